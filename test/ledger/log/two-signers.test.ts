/** @module Two processes that sign the logs of one store: what one of them decides counts only behind the events that it was decided on. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseJson } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { realEffects } from '../../../src/ledger/effects.ts'
import { LedgerFacts } from '../../../src/ledger/identity/ledger-facts.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import { CheckpointFile } from '../../../src/ledger/log/checkpoint-file.ts'
import { CheckpointStamps } from '../../../src/ledger/log/checkpoint-stamps.ts'
import type { LogFact } from '../../../src/ledger/log/log-deps.ts'
import { TenantTree } from '../../../src/ledger/log/tenant-tree.ts'
import { formatCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { leafHash } from '../../../src/merkle/hashes.ts'
import { noteSigner, noteVerifier } from '../../../src/merkle/note-key.ts'
import { signNote } from '../../../src/merkle/signed-note.ts'
import { firstExpectation } from '../../../src/signing/check.ts'
import { createRunKeys } from '../../../src/signing/key-ring.ts'
import { logKeyChain } from '../../../src/signing/ledger-keys.ts'
import type { EventStore, ReadRecord } from '../../../src/store/event-store.ts'
import { verifyRecords } from '../../../src/verify/verify-records.ts'
import { collect } from '../../support/records.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'
import { ORIGIN, testStoreKeys } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

const test = suite('ledger: two processes that sign the logs')

/** Bodies of the checkpoints on record. */
async function recorded({ store, tenant }: TestLogs): Promise<readonly string[]> {
  const records = await collect(store.readStream(ledgerStream(tenant)))
  return records.filter(({ header }) => header.includes('"CheckpointSigned"')).map(({ data }) => data)
}

/** Positions of a server have gaps, which say nothing of it: they are counted, as a scan of such a store does. */
async function* numbered(store: EventStore): AsyncGenerator<readonly ReadRecord[]> {
  let position = 0
  for await (const page of store.readAll()) {
    yield page.map((record) => {
      position += 1
      return { ...record, position: String(position) }
    })
  }
}

async function verdictOf({ store, keys }: TestLogs): Promise<readonly string[]> {
  const codes: string[] = []
  const { verdict } = await verifyRecords(numbered(store), {
    keys: {
      ring: keys.ring,
      runKeys: createRunKeys(keys.ring),
      verifierKeys: (origin) => logKeyChain(keys).map((key) => noteVerifier(origin, key).text),
    },
    wholeStore: true,
    onFault: ({ code }) => codes.push(code),
  })
  return [verdict, ...codes]
}

/** The same store, which has `before` run to its end before it answers the first read of one record once it is armed. */
function interrupted(store: EventStore, before: () => Promise<void>) {
  let isArmed = false
  const proxied = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'recordAt') return typeof value === 'function' ? value.bind(target) : value
      return async (position: string) => {
        const isFirst = isArmed
        isArmed = false
        if (isFirst) await before()
        return target.recordAt(position)
      }
    },
  })
  const arm = (): void => {
    isArmed = true
  }
  return { store: proxied, arm, isArmed: () => isArmed }
}

test('a checkpoint that another process records while this one reads its leaves again is not recorded a second time (LOG-6, F310)', async () => {
  await using two = await testLogs()
  let one: TestLogs | undefined
  const { store, arm, isArmed } = interrupted(two.store, async () => {
    await two.logs.publish()
    // An export of this process follows the store meanwhile, past the checkpoint of the other one.
    await one?.logs.treeAt(two.tenant, (await two.store.end()) ?? '')
  })
  one = await testLogs({ store, keys: two.keys })
  try {
    await two.fill(two.tenant, 'r', 5)
    arm()
    await one.logs.publish()
    assert.is(isArmed(), false, 'it was interrupted')
    await one.logs.publish()
    await two.logs.publish()
    assert.is((await recorded(two)).length, 1)
    assert.equal(await verdictOf(two), ['VERIFIED'])
  } finally {
    await one[Symbol.asyncDispose]()
  }
})

test('a store with a checkpoint on record twice, byte for byte, is VERIFIED, and its log goes on from it (F310)', async () => {
  await using at = await testLogs()
  const facts = factsOf(at)
  await at.fill(at.tenant, 'r', 5)
  await at.logs.publish()
  const [body = ''] = await recorded(at)
  await facts.record({ tenant: at.tenant, type: 'CheckpointSigned', data: parseJson(body) })
  await at.fill(at.tenant, 'more', 1)
  await at.logs.publish()
  assert.is(at.logs.state(at.tenant).stopped, undefined)
  assert.equal((await recorded(at)).slice(0, 2), [body, body])
  assert.is((await recorded(at)).length, 3)
  assert.equal(await verdictOf(at), ['VERIFIED'])
})

function factsOf(at: TestLogs): LedgerFacts {
  const sealer = new Sealer({ current: () => at.keys, onChange: () => () => undefined })
  return new LedgerFacts({ store: at.store, sealer, effects: realEffects() })
}

test('a time-stamp that came meanwhile on record is not recorded again, however old the log is that this thread has at hand (LOG-33, F310)', async () => {
  const tenant = 'acme'
  const key = testStoreKeys().checkpointKey
  const root = leafHash('one')
  const origin = `${ORIGIN}/${tenant}`
  const note = signNote(formatCheckpoint({ origin, size: 1, root, extensions: [] }), [noteSigner(origin, key)])
  const logRow = { tenant, size: 1, lastFactIndex: 0, signedSize: 1, note }
  const tile = () => root
  let isOnRecord = false
  /** As the file has it now. */
  const treeNow = (): TenantTree =>
    new TenantTree({ tile }, tenant, {
      ...logRow,
      ...(isOnRecord && { stamp: { size: 1, leaf: 1, time: '2026-07-14T09:30:00.000Z' } }),
    })
  let atHand: TenantTree | undefined
  const appended: LogFact[] = []
  const quiet = () => undefined
  using stamps = new CheckpointStamps(
    {
      append: async (fact) => {
        appended.push(fact)
        return { kind: 'appended', revision: fact.at.revision, position: '9' }
      },
      effects: realEffects(),
      log: { info: quiet, warn: quiet, error: quiet },
    },
    {
      tree: () => {
        atHand ??= treeNow()
        return atHand
      },
      expectation: (stream) => ({ ...firstExpectation(stream), revision: isOnRecord ? 2 : 1 }),
      forget: () => {
        atHand = undefined
      },
    },
    {
      authority: {
        name: 'time.example',
        stamp: async () => {
          return { ok: true, time: '2026-07-14T09:30:00.000Z', policy: '1.2', serial: '1', reply: new Uint8Array(1) }
        },
      },
      intervalMs: 0,
    },
  )
  stamps.post(tenant)
  await eventually(() => (stamps.state().dueSinceMs === undefined ? undefined : true), 'it is due')
  await new Promise((resolve) => setImmediate(resolve))
  isOnRecord = true
  assert.is(await stamps.record(), false)
  assert.equal(appended, [])
})

test('the file of a process holds every checkpoint that it served, those of other processes too (A362)', async () => {
  using folder = tempFolder()
  await using first = await testLogs()
  const { store, keys, tenant } = first
  // There the other process is none.
  if (store.exclusive === true) return
  await using second = await testLogs({ store, keys, folder: folder.path })
  const kept = (): string | undefined =>
    new CheckpointFile(folder.file('store.db.checkpoints')).load()?.checkpoints.get(tenant)
  await second.logs.publish()
  for (const run of ['one', 'two', 'three']) {
    await first.fill(tenant, run, 2)
    await first.logs.publish()
    // As a question does that needs the newest tree: nothing is signed here.
    await second.logs.publish()
    const served = second.logs.checkpoint(tenant)
    assert.equal(served, first.logs.checkpoint(tenant))
    assert.is(kept(), served.ok ? served.value : undefined, run)
  }
})

test.run()
