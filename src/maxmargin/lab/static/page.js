// The page in a tab: lab.js with a model that talks to the server by a WebSocket, and the state in the address.
import lab from "./lab.js";

class SocketModel {
  constructor(url) {
    this.listeners = new Set();
    this.queue = [];
    this.socket = new WebSocket(url);
    this.socket.onopen = () => {
      this.queue.forEach((text) => this.socket.send(text));
      this.queue = [];
    };
    this.socket.onmessage = (event) => this.deliver(JSON.parse(event.data));
    this.socket.onclose = () =>
      this.deliver({ type: "error", lasting: true, message: "The server has ended: start maxmargin lab again." });
  }
  deliver(message) {
    this.listeners.forEach((listener) => listener(message));
  }
  on(name, listener) {
    if (name === "msg:custom") this.listeners.add(listener);
  }
  off(name, listener) {
    if (name === "msg:custom") this.listeners.delete(listener);
  }
  send(event) {
    const text = JSON.stringify(event);
    if (this.socket.readyState === WebSocket.CONNECTING) this.queue.push(text);
    else if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
  }
  // What the address says: #lesson-3, or #CODE~STEP.
  get opening() {
    const hash = decodeURIComponent(location.hash.slice(1));
    const lesson = /^lesson-(\d+)$/.exec(hash);
    if (lesson) return { lesson: Number(lesson[1]) - 1 };
    const [code, step] = hash.split("~");
    return code ? { code, step: Math.max(0, Number.parseInt(step, 10) || 0) } : {};
  }
  address(code, step) {
    this.shown = `#${code}~${step}`;
    history.replaceState(null, "", this.shown);
  }
}

const here = new URL("ws", location.href);
here.protocol = "ws:";
here.hash = "";
const model = new SocketModel(here);
lab.render({ model, el: document.getElementById("lab") });
addEventListener("hashchange", () => {
  if (location.hash !== model.shown) model.send({ type: "open", ...model.opening });
});
