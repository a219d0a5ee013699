/**
 * @module Child process: `waiting-worker-child.js URL TOKEN`, a worker over HTTP. Its runs, `order`, pay once that is granted, and print their input and the time
 * at which they pay, in milliseconds since 1970.
 */
import { connect, type Run } from '../src/agent/index.ts'

const [url = '', token = ''] = process.argv.slice(2)
await using cs = connect({ url, token })
const pay = cs.tool(
  async (order: string) => {
    process.stdout.write(`${JSON.stringify({ order, atMs: Date.now() })}\n`)
    return 'paid'
  },
  { name: 'pay', approve: true, compensate: 'not-needed' },
)
const worker = cs.worker({ runs: { order: async (run: Run<string>) => pay(run.input) } })
process.on('SIGTERM', () => void worker.stop())
await worker.done
