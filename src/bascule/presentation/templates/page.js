(function () {
  "use strict";
  var tip = document.getElementById("tip");

  function show(spot) {
    tip.replaceChildren();
    var title = document.createElement("strong");
    title.textContent = spot.dataset.title;
    tip.append(title);
    spot.dataset.lines.split("\n").forEach(function (line) {
      var part = document.createElement("span");
      part.textContent = line;
      tip.append(part);
    });
    tip.hidden = false;
    var box = spot.querySelector(".mark").getBoundingClientRect();
    var left = box.left + box.width / 2 - tip.offsetWidth / 2;
    var room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    var above = box.top - tip.offsetHeight - 12;
    tip.style.left = Math.max(8, Math.min(room, left)) + window.scrollX + "px";
    tip.style.top = (above > 4 ? above : box.bottom + 12) + window.scrollY + "px";
  }

  function hide() {
    tip.hidden = true;
  }

  document.querySelectorAll(".chart .spot").forEach(function (spot) {
    spot.addEventListener("pointerenter", function () { show(spot); });
    spot.addEventListener("pointerleave", hide);
    spot.addEventListener("focus", function () { show(spot); });
    spot.addEventListener("blur", hide);
    spot.addEventListener("click", function () { show(spot); });
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { hide(); }
  });
})();
