/** @module Child process: the tests' protocol node, which keeps everything in memory. Prints its URL; ends on a signal. */
import { startNode } from '../test/support/eventstoredb-node.ts'

const node = await startNode()
process.stdout.write(`${JSON.stringify({ url: node.url })}\n`)
process.once('SIGTERM', () => process.exit(0))
