/**
 * @module Child: `resume-child.js here FOLDER | URL TOKEN`, then the run's id and `die` or nothing. Makes a call of a tool; with `die` it is killed by SIGKILL in the
 * middle of it, under a lease of ten minutes. Else it resumes that run and prints how many milliseconds its first live call took to come, from the call of `run`.
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
