import { Readable } from 'node:stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { recordAt, scanAll } from '../../src/store/eventstoredb/all-reads.ts'
import { sendAppend } from '../../src/store/eventstoredb/append-sender.ts'
import { Connection } from '../../src/store/eventstoredb/connection.ts'
import { LastPosition } from '../../src/store/eventstoredb/last-position.ts'
import { WakeWatch, watchRetention } from '../../src/store/eventstoredb/live-watch.ts'
import { RetentionCheck } from '../../src/store/eventstoredb/retention-check.ts'
import { readHead, readRange } from '../../src/store/eventstoredb/stream-reads.ts'
import { Wakeups } from '../../src/store/wakeups.ts'

const test = suite('eventstoredb: who is asked')

/** A connection whose client notes what each call asks for and answers none of them, but for reads of all with `readAll`. */
function noting(readAll?: () => Readable) {
  const asked: { readonly call: string; readonly requiresLeader: unknown }[] = []
  const note = (call: string, options: object): never => {
    asked.push({ call, requiresLeader: 'requiresLeader' in options && options.requiresLeader })
    throw new RangeError('noted')
  }
  const client = {
    GRPCStreamCreator: (_: unknown, __: string, create: (calls: object) => unknown) => async () => create({}),
    callArguments: (options: object) => note('append', options),
    readStream: (_: string, options: object) => note('read', options),
    readAll: (options: object) => {
      if (readAll === undefined) return note('read all', options)
      asked.push({ call: 'read all', requiresLeader: 'requiresLeader' in options && options.requiresLeader })
      return readAll()
    },
    subscribeToAll: (options: object) => note('subscribe', options),
  }
  const carried = async (fn: (client: never) => unknown): Promise<unknown> => fn(client as never)
  const connection = {
    usable: async () => true,
    status: { state: 'ready' },
    onStatus: () => () => undefined,
    whenReady: async () => true,
    call: carried,
    read: carried,
    closing: new AbortController().signal,
    timings: { callMs: 10_000, pollMs: 10_000, settleMs: 10, probeCallMs: 10_000 },
    shared: { current: client, replace: () => undefined },
  } as unknown as Connection
  return { asked, connection }
}

const isNoted = (error: unknown): void => {
  if (!(error instanceof RangeError)) throw error
}

test('(A144) appends, heads, pages, the end and both live watches go to the leader: a follower may lag behind what it acknowledged (STR-26)', async () => {
  const { asked, connection } = noting()
  const canonical = (value: unknown): string => JSON.stringify(value)
  const append = { stream: 's', expectedRevision: 0, records: [] }
  await sendAppend({ connection, canonical, onDeleted: () => undefined }, append).catch(isNoted)
  await readHead(connection, 's').catch(isNoted)
  await readRange({ connection, canonical }, 's', { from: 0, to: 1 }).catch(isNoted)
  await watchRetention(connection, new RetentionCheck(connection)).catch(isNoted)
  const wakeWatch = new WakeWatch(connection, new Wakeups())
  wakeWatch.begin()
  await wakeWatch.over().catch(isNoted)
  const last = new LastPosition(connection)
  await last.find().catch(isNoted)
  const at = { commit: 1n, prepare: 1n }
  await recordAt({ connection, canonical }, at).catch(isNoted)
  const known = { find: async () => at, forget: () => undefined } as unknown as LastPosition
  await scanAll({ connection, canonical, last: known }, {}).next().catch(isNoted)
  assert.equal(asked.map(({ call }) => call).slice(asked.findLastIndex(({ call }) => call === 'append')), [
    'append',
    'read',
    'read',
    'subscribe',
    'subscribe',
    'read all',
    'read all',
    'subscribe',
  ])
  assert.equal(
    asked.filter(({ requiresLeader }) => requiresLeader !== true),
    [],
  )
})

test('(A144) so do the probe for the end of an outage, and both steps of the look for what the server may forget', async () => {
  const { asked, connection } = noting()
  await Connection.prototype.probe.call(connection).catch(isNoted)
  await new RetentionCheck(connection).look().catch(isNoted)
  const last = noting(() => Readable.from([{ event: { position: { commit: 9n, prepare: 9n } } }]))
  await new RetentionCheck(last.connection).look().catch(isNoted)
  assert.equal(
    [...asked, ...last.asked],
    ['read', 'read all', 'read all', 'subscribe'].map((call) => ({ call, requiresLeader: true })),
  )
})

test.run()
