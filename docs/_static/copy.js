// A button on every block of code that copies what a reader would type: no prompts, no output.
"use strict";

function typed(text) {
  const prompt = /^(>>> ?|\.\.\. ?|\$ )/;
  const lines = text.replace(/\n$/, "").split("\n");
  if (!lines.some((line) => prompt.test(line))) return lines.join("\n");
  return lines.filter((line) => prompt.test(line)).map((line) => line.replace(prompt, "")).join("\n");
}

if (typeof module !== "undefined") module.exports = { typed };
else
  document.addEventListener("DOMContentLoaded", () => {
    for (const block of document.querySelectorAll("div.highlight")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(typed(block.querySelector("pre").textContent));
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      });
      block.append(button);
    }
  });
