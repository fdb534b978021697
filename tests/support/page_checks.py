"""Checks of pages in a browser: width, sizes of text, contrast, links that skip, and errors of scripts."""

SURVEY = """() => {
  function channels(text) {
    const found = text.match(/[\\d.]+/g).map(Number);
    if (text.startsWith("color(srgb")) return [255 * found[0], 255 * found[1], 255 * found[2], found[3] ?? 1];
    return [found[0], found[1], found[2], found[3] ?? 1];
  }
  function over(top, below) {
    return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]);
  }
  function luminance(colour) {
    const [r, g, b] = colour.slice(0, 3).map(value => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  // The shapes of a drawing below a text, from the first to the last that is drawn.
  function shapesBelow(element, box) {
    const drawing = element.ownerSVGElement;
    if (!drawing) return [];
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    return Array.from(drawing.querySelectorAll("rect, circle, polygon")).filter(shape => {
      const place = shape.getBoundingClientRect();
      const isBefore = shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
      return isBefore && place.left <= x && x <= place.right && place.top <= y && y <= place.bottom;
    });
  }
  function background(element, box) {
    const layers = shapesBelow(element, box).map(shape => getComputedStyle(shape))
      .filter(style => style.fill.startsWith("rgb"))
      .map(style => { const fill = channels(style.fill); fill[3] *= style.fillOpacity * style.opacity; return fill; })
      .reverse();
    for (let part = element; part; part = part.parentElement) {
      const style = getComputedStyle(part);
      if (!(part instanceof SVGElement)) layers.push(channels(style.backgroundColor));
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  }
  const small = new Map(), faint = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let texts = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, title, desc, button:disabled")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGElement;
    const matrix = isDrawn ? element.getScreenCTM() : null;
    const size = parseFloat(style.fontSize) * (matrix ? Math.hypot(matrix.c, matrix.d) : 1);
    const name = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
    const where = `${name}: ${node.data.trim().slice(0, 40)}`;
    if (size < 11.99) small.set(where, Math.round(10 * size) / 10);
    const below = background(element, box);
    const ink = over(channels(isDrawn ? style.fill : style.color), below);
    const [light, dark] = [luminance(ink), luminance(below)].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    const isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    if (contrast < (isLarge ? 3 : 4.5)) faint.set(where, Math.round(100 * contrast) / 100);
  }
  return { texts, small: Object.fromEntries(small), faint: Object.fromEntries(faint) };
}"""
"""Returns the number of visible texts of a page, those below 12 pixels, and those with too little contrast (WCAG 2 AA).

The background of a text is that of its elements, and of the shapes before it if it belongs to a drawing.
"""

WIDE = """() => {
  function isOutside(element) {
    for (let part = element.parentElement; part !== document.body; part = part.parentElement) {
      if (getComputedStyle(part).overflowX !== "visible") return false;
    }
    return element.getBoundingClientRect().right > innerWidth + 1 && element.checkVisibility();
  }
  const inner = Array.from(document.body.querySelectorAll("*")).filter(element => element.parentElement);
  const outside = inner.filter(isOutside).slice(0, 5);
  return [document.documentElement.scrollWidth,
    outside.map(element => `${element.tagName}.${element.getAttribute("class")}: ${element.textContent.slice(0, 40)}`)];
}"""
"""Returns the width of a page, and elements that are the reason if it is wider than the window."""

STEP_IN_ITS_BOX = """() => {
  const chart = document.querySelector(".chart"), box = chart.getBoundingClientRect();
  const row = chart.querySelector(".chart-steps .now"), { top, bottom } = row.getBoundingClientRect();
  const middle = element => element.getBoundingClientRect().left + element.getBoundingClientRect().width / 2;
  const isInside = element => box.left < middle(element) && middle(element) < box.right;
  const signs = [...chart.querySelectorAll(".sign:not(.effect)")].filter(sign => {
    const place = sign.getBoundingClientRect();
    return top <= place.top && place.bottom <= bottom;
  });
  const heads = [...chart.querySelectorAll(".chart-lanes b")];
  const name = heads.find(head => Math.abs(middle(head) - middle(signs[0])) < 2);
  return {
    sign: signs.length === 1 && isInside(signs[0]) && box.top <= top && bottom <= box.bottom,
    number: isInside(row.querySelector("b")),
    name: isInside(name) && name.getBoundingClientRect().top >= box.top && box.height < innerHeight,
  };
}"""
"""Returns whether the box of a chart shows the sign of the chosen step, its number and the name of its lane."""

EVERYTHING = ".js .step { display: block !important; }"
"""A style that shows every step at once."""

SCHEMES = {390: ("light", "dark"), 800: (), 1600: ("light",)}
"""The widths of the window, and the colour schemes in which texts are surveyed; a colour depends on no width."""


def problems_of(page):
    """Return sentences about an open page; it is shown in every width, light and dark, and with every step shown."""
    found = []
    for width in SCHEMES:
        page.set_viewport_size({"width": width, "height": 900})
        found += _too_wide(page, width, "")
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    page.add_style_tag(content=EVERYTHING)
    for width in SCHEMES:
        page.set_viewport_size({"width": width, "height": 900})
        found += _too_wide(page, width, ", everything open")
        for scheme in SCHEMES[width]:
            page.emulate_media(color_scheme=scheme)
            survey = page.evaluate(SURVEY)
            assert survey["texts"], "the page has no text"
            found += [f"{width} px: text of {size} px: {where}" for where, size in survey["small"].items()]
            found += [f"{width} px, {scheme}: contrast {ratio}: {where}" for where, ratio in survey["faint"].items()]
    return found


def _too_wide(page, width, how):
    shown, elements = page.evaluate(WIDE)
    return [f"{shown} px wide at {width} px{how}: {elements}"] if shown > width else []
