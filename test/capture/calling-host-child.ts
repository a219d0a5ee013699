/**
 * @module A host that makes one numbered call after another through the proxy and writes down each answer. Where the proxy ends it starts another one. A call
 * with a key of its own is made again until it is answered or in doubt; one without is made once. Arguments: where it writes, first number, the proxy's command.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [, , file = '', first = '0', ...command] = process.argv
const note = (entry: object): void => appendFileSync(file, `${JSON.stringify(entry)}\n`)
const AGAIN_MS = 100

interface Answer {
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] }
}

class Session {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer | undefined) => void>()
  #id = 0
  isGone = false

  constructor() {
    const [program = '', ...args] = command
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    note({ proxy: this.#child.pid })
    this.#child.stdin?.on('error', () => undefined)
    this.#child.once('exit', () => {
      this.isGone = true
      for (const done of this.#waiting.values()) done(undefined)
    })
    const { stdout } = this.#child
    if (stdout === null) return
    createInterface({ input: stdout }).on('line', (line) => {
      const { id, ...answer } = JSON.parse(line) as Answer & { readonly id: number }
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  /** Undefined where the proxy ended before it answered. */
  ask(method: string, params: object): Promise<Answer | undefined> {
    this.#id += 1
    const id = this.#id
    return new Promise((resolve) => {
      if (this.isGone) return resolve(undefined)
      this.#waiting.set(id, resolve)
      this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }
}

let proxy = new Session()

async function call(name: string, args: object, key?: string): Promise<string | undefined> {
  if (proxy.isGone) proxy = new Session()
  const meta = key === undefined ? {} : { _meta: { 'dev.countersign/call-key': key } }
  const answer = await proxy.ask('tools/call', { name, arguments: args, ...meta })
  return answer?.result?.content?.[0]?.text
}

for (let n = Number(first); ; n += 1) {
  const key = n % 2 === 0 ? `n${n}` : undefined
  note({ asks: n })
  for (;;) {
    const text = await call('charge', { n }, key)
    if (text !== undefined) note({ n, text })
    const isOver = text !== undefined && /^done|doubt|no known outcome|was executed/.test(text)
    if (isOver || key === undefined) break
    await sleep(AGAIN_MS)
  }
  const read = await call('read', { n: 0 })
  if (read !== undefined) note({ read })
}
