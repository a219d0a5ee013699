// A process that runs compiled test files one after the other; see `test-worker.mjs`.
import { spawn } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const WORKER = fileURLToPath(new URL('test-worker.mjs', import.meta.url))
const END_MARK = '\x1eended '
const END_LINE = new RegExp(`\n${END_MARK}(.*)\n`)

export class TestProcess {
  /** Whether the process has ended, so that no further file can run in it. */
  isOver = false
  #timeoutMs
  #child
  #closed
  /** Files that were run, and whether the last of them ended the process. */
  #ran = []
  #wasEnded = false
  #output = ''
  #atMark = () => {}

  constructor({ env, timeoutMs, nodeArgs = [] }) {
    this.#timeoutMs = timeoutMs
    this.#child = spawn(process.execPath, [...nodeArgs, '--enable-source-maps', WORKER, END_MARK], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => this.#hear(chunk))
    }
    this.#closed = new Promise((resolve) => {
      this.#child.on('close', (code) => {
        this.isOver = true
        resolve({ code: code ?? 1, output: this.#output, cpuSeconds: 0 })
      })
    })
  }

  /** Returns `{code, output, cpuSeconds}`: the result of the file, or of the process if the file ended it. */
  async run(path) {
    const marked = new Promise((resolve) => (this.#atMark = resolve))
    this.#ran.push(path)
    this.#child.send(pathToFileURL(path).href)
    const result = await this.#inTime(Promise.race([marked, this.#closed]))
    this.#wasEnded = this.isOver
    return result
  }

  /** Asks the process to end, which it does with code 0 if its files left nothing open. Returns `{code, output, ran}`. */
  async end() {
    if (this.#wasEnded) return { code: 0, output: '', ran: this.#ran }
    // The child disconnects: if the parent did, node might not emit `close`.
    if (this.#child.connected) this.#child.send(null)
    return { ...(await this.#inTime(this.#closed)), ran: this.#ran }
  }

  #hear(chunk) {
    this.#output += chunk
    const found = END_LINE.exec(this.#output)
    if (found === null) return
    const output = this.#output.slice(0, found.index)
    this.#output = this.#output.slice(found.index + found[0].length)
    this.#atMark({ ...JSON.parse(found[1]), output })
  }

  async #inTime(result) {
    let late = ''
    const timer = setTimeout(() => {
      late = `\nkilled: not done after ${this.#timeoutMs / 1000} s`
      this.#child.kill('SIGKILL')
    }, this.#timeoutMs)
    const ended = await result
    clearTimeout(timer)
    return { ...ended, output: ended.output + late }
  }
}
