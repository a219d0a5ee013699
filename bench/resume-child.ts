/**
 * @module Child process: `resume-child.js here FOLDER | URL TOKEN`, then the run's id and optionally `die`. Makes a tool call; with `die` it is killed by
 * SIGKILL during the call, under a lease of ten minutes. Otherwise it resumes that run and prints the milliseconds from the call of `run` to its first live
 * call.
 */
import { connect, open } from '../src/agent/index.ts'

const LEASE_MS = 600_000

const [where = '', secret = '', id = '', fate] = process.argv.slice(2)
await using cs = where === 'here' ? await open({ path: secret }) : connect({ url: where, token: secret })
let ranAtMs = 0
const work = cs.tool(
  async () => {
    ranAtMs = performance.now()
    if (fate !== 'die') return 'done'
    process.kill(process.pid, 'SIGKILL')
    return new Promise<string>(() => setInterval(() => undefined, LEASE_MS))
  },
  { name: 'work', compensate: 'not-needed', onUnknown: 'retry', leaseMs: LEASE_MS },
)
const askedAtMs = performance.now()
await cs.run({ id, name: 'resume' }, () => work())
process.stdout.write(`${ranAtMs - askedAtMs}\n`)
