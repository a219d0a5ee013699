import { once } from 'node:events'
import type { ResourceLimits } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { endWorker, startWorker } from '../../src/resources/worker-life.ts'
import { runCommand } from '../support/command-line.ts'

const MIB = 1024 * 1024
/** Of its heap, and what V8 keeps besides. */
const LIMIT_MIB = 256 + 32

const PROGRAM = `
  import { parentPort } from 'node:worker_threads'
  import { getHeapStatistics } from 'node:v8'
  parentPort.postMessage({ kind: 'heap', bytes: getHeapStatistics().heap_size_limit })`

const PARENT = `
  import { startWorker } from ${JSON.stringify(new URL('../../src/resources/worker-life.js', import.meta.url).href)}
  const file = new URL('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(PROGRAM))})
  const receive = ({ bytes }) => console.log(bytes)
  startWorker({ file, workerData: {}, name: 'w', receive, ended: () => undefined }).ref()`

const test = suite('threads of a process')

test('the heap of a thread is bounded, however much room the process was given for young objects (RUN-101)', async () => {
  for (const flags of [[], ['--max-semi-space-size=64']]) {
    const { code, stdout, stderr } = await runCommand([
      process.execPath,
      ...[...flags, '--input-type=module', '--eval', PARENT],
    ])
    assert.is(code, 0, stderr)
    assert.ok(Number(stdout) > 0 && Number(stdout) <= LIMIT_MIB * MIB, `${flags}: ${Number(stdout) / MIB} MiB`)
  }
})

test('of the heap of a thread, young objects have no more than it is given for them', async () => {
  const program = `import { parentPort, resourceLimits } from 'node:worker_threads'
    parentPort.postMessage({ kind: 'limits', ...resourceLimits })`
  const file = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
  const heap = { heapBytes: 64 * MIB, youngBytes: 16 * MIB }
  const limits = await new Promise<ResourceLimits>((receive, reject) => {
    const ended = (why: string): void => reject(new Error(why))
    const worker = { file, workerData: {}, name: 'w', ...heap, receive, ended }
    startWorker<ResourceLimits & { readonly kind: 'limits' }>(worker).ref()
  })
  assert.is(limits.maxYoungGenerationSizeMb, 16)
  assert.is(limits.maxOldGenerationSizeMb, 48)
})

test('a thread that ended before is ended at once', async () => {
  const file = new URL('data:text/javascript,')
  const worker = startWorker({ file, workerData: {}, name: 'w', receive: () => undefined, ended: () => undefined })
  await once(worker, 'exit')
  const leave = (): void => assert.unreachable('nobody is there to be told')
  await endWorker(worker, leave, 0)
})

test.run()
