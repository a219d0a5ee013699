import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { FromSealer } from '../../src/sealing/protocol.ts'
import { SealThread, type SealThreadOptions } from '../../src/sealing/seal-thread.ts'
import { packAppends, unpackAppends } from '../../src/sealing/sent-appends.ts'
import type { Append, AppendResult } from '../../src/store/event-store.ts'

const test = suite('a thread that decides and seals, from outside')

const appends: readonly Append[] = [
  {
    stream: 'run-a.1',
    expectedRevision: 3,
    records: [
      { id: 'i1', type: 'T1', header: 'h1', data: 'd1', salt: Buffer.from('s1') },
      { id: 'i2', type: 'T2', header: 'h2', data: 'd2', salt: Buffer.from('salt 2'), requestId: 'q' },
    ],
  },
  {
    stream: 'run-a.2',
    expectedRevision: -1,
    records: [{ id: 'i3', type: 'T', header: 'h', data: 'd', salt: Buffer.from('') }],
  },
]

test('appends come out of the message as they went in', () => {
  const plain = (all: readonly Append[]) =>
    all.map(({ records, ...rest }) => ({
      ...rest,
      records: records.map(({ salt, ...record }) => ({ ...record, salt: Buffer.from(salt).toString('hex') })),
    }))
  assert.equal(plain(unpackAppends(structuredClone(packAppends(1, appends)))), plain(appends))
})

/** A thread that appends as soon as it hears of the store, under the epoch before, then under the present one. */
const program = `
  import { parentPort as port } from 'node:worker_threads'
  const group = (id) => ({ group: { id, streams: ['s'], expected: [0], counts: [1], headers: ['h'], datas: ['d'],
    requests: [null], salts: new Uint8Array(1), saltEnds: [1] }, ids: ['i'], types: ['t'] })
  const said = []
  port.on('message', (message) => {
    if (message.kind === 'store') for (const by of [-1, 0]) port.postMessage({ kind: 'append', epoch: message.epoch + by, appends: group(by) })
    if (message.kind === 'appended') said.push(message.results)
    if (said.length === 2) port.postMessage({ kind: 'refused', code: JSON.stringify(said.flat().map(({ kind }) => kind)) })
    if (message.kind === 'end') port.close()
  })
  port.postMessage({ kind: 'ready' })`

test('an append that was decided on before the store was opened anew is not written: its thread learns so and decides again (F273)', async () => {
  let written = 0
  let heard: (text: string) => void = () => undefined
  const said = new Promise<string>((resolve) => {
    heard = resolve
  })
  const options: SealThreadOptions = {
    ...{ file: new URL(`data:text/javascript,${encodeURIComponent(program)}`), workerData: () => ({}) },
    heapBytes: 128 * 1024 * 1024,
    store: {
      append: async (): Promise<AppendResult> => {
        written += 1
        return { kind: 'appended', revision: 1, position: '1' }
      },
    },
    storeNow: () => ({ kind: 'store', epoch: 7, status: { state: 'ready' } }),
    onReport: (report: FromSealer) => heard(report.kind === 'refused' ? report.code : report.kind),
    onDeath: (why) => heard(why),
  }
  const thread = new SealThread(options)
  await thread.begin()
  // The message of the thread is on its way: it keeps no process alive.
  const alive = setInterval(() => undefined, 1_000)
  assert.equal(JSON.parse(await said), ['unavailable', 'appended'])
  clearInterval(alive)
  assert.is(written, 1)
  await thread.end()
})

test('a thread that cannot begin says why, and nobody waits for it', async () => {
  const file = new URL('data:text/javascript,throw new Error("no keys")')
  const thread = new SealThread({
    ...{ file, workerData: () => ({}), heapBytes: 128 * 1024 * 1024 },
    store: { append: async () => ({ kind: 'unavailable', detail: '', retryAfterMs: 1 }) },
    storeNow: () => ({ kind: 'store', epoch: 0, status: { state: 'ready' } }),
    ...{ onReport: () => undefined, onDeath: () => undefined },
  })
  const why = await thread.begin().then(
    () => 'it began',
    (error: Error) => error.message,
  )
  assert.is(why, 'no keys')
  const caller = { tenant: 't', actor: 'a' }
  const lost = await thread.run({ caller, runId: 'r', task: { what: 'query', name: 'run', args: [] } })
  assert.is('lost' in lost && lost.lost, 'not-begun')
  await thread.end()
})

test.run()
