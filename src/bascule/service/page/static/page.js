/* The little that HTML and htmx do not do by themselves. */
(function () {
  "use strict";

  function dialog() { return document.getElementById("dialog"); }

  /* A question opens in the dialog; it closes when it was answered or left. */
  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.id === "dialog-body" && !dialog().open) { dialog().showModal(); }
  });
  document.addEventListener("changed", function () {
    if (dialog().open) { dialog().close(); }
  });
  document.addEventListener("click", function (event) {
    const way = event.target.closest("[data-closes]");
    if (way && dialog().contains(way)) { event.preventDefault(); dialog().close(); }
  });

  /* A rule that was chosen while a plan was under way stays chosen when the plan comes. */
  let chosenRule = null;
  document.addEventListener("change", function (event) {
    if (event.isTrusted && event.target.name === "rule") { chosenRule = event.target.dataset.rule; }
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.id !== "answer" || chosenRule === null) { return; }
    const again = Array.from(document.querySelectorAll("input[name=rule]")).find(function (rule) {
      return rule.dataset.rule === chosenRule;
    });
    if (again && !again.checked) {
      again.checked = true;
      again.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });

  /* A plan that no longer fits the fields is marked until the next one comes. If no answer comes, as
     while the service restarts, the page asks for the plan again. */
  const UNPLANNED = ["rule", "name", "description", "start"];
  let edits = 0, editsAsked = 0;
  function isOfPlan(event) { return event.detail.target && event.detail.target.id === "answer"; }
  function mark(isStale) {
    const answer = document.getElementById("answer");
    if (answer) { answer.classList.toggle("stale", isStale); }
  }
  document.addEventListener("input", function (event) {
    if (event.target.closest("form.new") && !UNPLANNED.includes(event.target.name)) { edits += 1; mark(true); }
  });
  document.addEventListener("htmx:beforeRequest", function (event) { if (isOfPlan(event)) { editsAsked = edits; } });
  document.addEventListener("htmx:afterSwap", function (event) { if (event.target.id === "answer") { mark(edits !== editsAsked); } });
  /* A field with a problem beside it is marked. */
  document.addEventListener("htmx:afterSettle", function (event) {
    if (event.target.id !== "answer") { return; }
    document.querySelectorAll("form.new .field").forEach(function (field) {
      const problem = field.querySelector(".bad"), box = field.querySelector("input, select, textarea");
      if (!problem || !box) { return; }
      if (problem.textContent.trim()) { box.setAttribute("aria-invalid", "true"); } else { box.removeAttribute("aria-invalid"); }
    });
  });
  ["htmx:sendError", "htmx:responseError"].forEach(function (name) {
    document.addEventListener(name, function (event) {
      if (!isOfPlan(event) || (event.detail.xhr && event.detail.xhr.status === 401)) { return; }
      mark(true);
      setTimeout(function () { htmx.trigger(document.querySelector(".new-grid"), "again"); }, 2000);
    });
  });

  /* Another outcome has other parameters, and the default values for conversions do not suit it. */
  function fitOutcome(form, clear) {
    const kind = form.querySelector("[name=outcome]:checked");
    if (!kind) { return; }
    form.querySelectorAll("[data-outcomes]").forEach(function (field) {
      const fits = field.dataset.outcomes.split(" ").includes(kind.value);
      field.hidden = !fits;
      if (!fits && clear) { field.querySelectorAll("input, textarea").forEach(function (box) { box.value = box.defaultValue && box.name === "cap" ? box.defaultValue : ""; }); }
    });
    if (clear) {
      form.querySelectorAll("[data-conversion]").forEach(function (box) {
        box.value = kind.value === "bernoulli" ? box.dataset.conversion : "";
      });
    }
  }
  /* Every rule has parameters of its own. */
  function fitRule(form, clear) {
    const rule = form.querySelector("[name=other_rule]");
    if (!rule) { return; }
    form.querySelectorAll("[data-rules]").forEach(function (field) {
      field.hidden = !field.dataset.rules.split(" ").includes(rule.value);
      if (field.hidden && clear) { field.querySelectorAll("input, select, textarea").forEach(function (box) { box.value = ""; }); }
    });
  }
  document.addEventListener("change", function (event) {
    if (event.target.name === "outcome") { fitOutcome(event.target.form, true); }
    if (event.target.name === "other_rule") { fitRule(event.target.form, true); }
  }, true);
  document.querySelectorAll("form.new").forEach(function (form) { fitOutcome(form, false); fitRule(form, false); });
  document.addEventListener("submit", function (event) {
    const button = event.target.querySelector("#create");
    if (button) { setTimeout(function () { button.disabled = true; }); }
  });

  /* Commands name the address at which the browser reaches the service, and can be copied. */
  function nameAddress() {
    document.querySelectorAll("[data-origin]").forEach(function (place) { place.textContent = location.origin; });
  }
  nameAddress();
  document.addEventListener("htmx:oobAfterSwap", nameAddress);
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-copies]");
    if (!button || !navigator.clipboard) { return; }
    navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent).then(function () {
      button.textContent = "Copied";
    });
  });

  /* A slider and the number beside it show the same. */
  document.addEventListener("input", function (event) {
    const twin = event.target.dataset.mirrors && document.getElementById(event.target.dataset.mirrors);
    if (twin) { twin.value = event.target.value; }
  });

  /* Nothing is replaced under a finger or a mouse button, or its click would be lost: the next renewal brings it. */
  let pressed = null;
  document.addEventListener("pointerdown", function (event) { pressed = event.target; }, true);
  ["pointerup", "pointercancel"].forEach(function (name) {
    document.addEventListener(name, function () { setTimeout(function () { pressed = null; }); }, true);
  });
  document.addEventListener("htmx:oobBeforeSwap", function (event) {
    if (pressed && event.detail.target.contains(pressed)) { event.preventDefault(); event.stopImmediatePropagation(); }
  });

  /* What was open stays open, and what was scrolled stays there, when a part of the page is renewed. */
  let places = [];
  document.addEventListener("htmx:oobBeforeSwap", function (event) {
    const old = event.detail.target, fresh = event.detail.fragment;
    old.querySelectorAll("details[id][open]").forEach(function (open) {
      const next = fresh.querySelector("#" + CSS.escape(open.id));
      if (next) { next.open = true; }
    });
    old.querySelectorAll(".scroll[id]").forEach(function (moved) {
      if (moved.scrollLeft || moved.scrollTop) { places.push([moved.id, moved.scrollLeft, moved.scrollTop]); }
    });
  });
  document.addEventListener("htmx:oobAfterSwap", function () {
    places.forEach(function (place) {
      const next = document.getElementById(place[0]);
      if (next) { next.scrollLeft = place[1]; next.scrollTop = place[2]; }
    });
    places = [];
  });

  /* If the service does not answer, the page says so. If the session has ended, it asks for a key. */
  function offline(is) { document.getElementById("offline").hidden = !is; }
  document.addEventListener("htmx:sendError", function () { offline(true); });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.xhr && event.detail.xhr.status > 0) { offline(false); }
  });
  document.addEventListener("htmx:responseError", function (event) {
    if (event.detail.xhr.status === 401) { location.assign("/sign-in"); }
    /* Whoever has clicked a button waits for the dialog: say that it does not come. */
    if (event.detail.target.id === "dialog-body") {
      const failed = document.createElement("p");
      failed.className = "bad";
      failed.textContent = "The service could not answer (" + event.detail.xhr.status + "). Try again in a moment.";
      document.getElementById("notice").replaceChildren(failed);
    }
  });

  /* A notice leaves by itself. */
  let leaving = 0;
  new MutationObserver(function () {
    const notice = document.getElementById("notice");
    clearTimeout(leaving);
    if (notice.textContent) { leaving = setTimeout(function () { notice.replaceChildren(); }, 6000); }
  }).observe(document.getElementById("notice"), { childList: true });
})();
