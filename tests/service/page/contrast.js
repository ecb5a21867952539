// Text whose contrast with the ground it stands on, as WCAG counts it, is below 4.5.
// What is hidden, or a picture, is left out.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  function rgba(text) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data);
  }

  function ground(element) {
    for (let at = element; at; at = at.parentElement) {
      const found = rgba(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) { return found; }
    }
    return [255, 255, 255, 255];
  }

  function light(shade) {
    const [r, g, b] = shade.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim();
    const box = walk.currentNode.parentElement;
    if (!text || !box.checkVisibility() || box.closest("svg, .hidden, .skip")) { continue; }
    const pair = [light(rgba(getComputedStyle(box).color)), light(ground(box))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) { poor.push([text, ratio]); }
  }
  return poor;
}
