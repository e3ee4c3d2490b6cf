// Browsers start no worker from disk. There a hidden frame does its work, so that pages can be searched without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "Search"
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(resolve => {
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = () => resolve(inside)
        inside.document.head.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
