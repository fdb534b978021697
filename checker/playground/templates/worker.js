// Runs Python. A message {id, name, values} calls a method of `Playground`; the answer has its id and its result.
import { loadPyodide } from "./pyodide.mjs";

async function start() {
  const folder = new URL(".", import.meta.url).href;
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: folder }),
    fetch(`${folder}checker.zip`).then((response) => response.arrayBuffer()),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/checker" });
  python.runPython("import sys; sys.path.append('/checker')");
  return python.pyimport("checker.playground.session").Playground();
}

function ended(error) {
  const said = String(error).trim().split("\n").pop().slice(0, 200);
  return `Python ended before the answer, and nothing is decided (${said}). Reload the page, and use smaller constants or `
    + "fewer states. If Python ends again, please report it with the address of this page, which has the spec.";
}

const started = start();
self.onmessage = async ({ data: { id, name, values } }) => {
  try {
    const playground = await started;
    const given = name === "explore" ? [...values, (states, seconds) => self.postMessage({ states, seconds })] : values;
    self.postMessage({ id, result: name === "ready" ? {} : JSON.parse(playground.call(name, ...given)) });
  } catch (error) {
    self.postMessage({ id, result: { errors: [{ line: 0, text: ended(error) }] } });
  }
};
