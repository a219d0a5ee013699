import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { createKeyRing, createRunKeys, currentKey, type KeyRing, rotateKeyRing } from '../../src/signing/key-ring.ts'
import { type EventDraft, sealEvents } from '../../src/signing/seal.ts'
import { createSeenIds } from '../../src/verify/seen-ids.ts'
import type { PlacedRecord } from '../../src/verify/source-item.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'

const records = suite('verify: records')
const NOW = '2026-01-01T00:00:00.000Z'

interface Writer {
  readonly records: PlacedRecord[]
  write(
    stream: string,
    drafts: readonly EventDraft[],
    how?: { kid?: string; newId?: () => string; clock?: string },
  ): void
}

/** Seals as the ledger does, but writes whatever it is told to. */
function writerOf(ring: KeyRing): Writer {
  const runKeys = createRunKeys(ring)
  const heads = new Map<string, { revision: number; prev: string; prevTime: string }>()
  const written: PlacedRecord[] = []
  return {
    records: written,
    write: (stream, drafts, { kid = currentKey(ring).kid, newId = v7, clock = NOW } = {}) => {
      const tenant = stream === 'ledger-system' ? 'system' : 'acme'
      const head = heads.get(stream)
      const key = runKeys.keyFor(kid, tenant, stream)
      if (key === undefined) throw new Error('no key')
      const place = { revision: (head?.revision ?? -1) + 1, prev: head?.prev, prevTime: head?.prevTime }
      const sealed = sealEvents(drafts, {
        ...{ stream, tenant, actor: 'a', clock, kid, key, newId, newSalt: () => randomBytes(16) },
        ...place,
      })
      for (const { header, record, digest } of sealed) {
        written.push({
          ...record,
          stream,
          revision: header.revision,
          position: String(written.length + 1),
          hasColumns: true,
        })
        heads.set(stream, { revision: header.revision, prev: digest, prevTime: header.time })
      }
    },
  }
}

function started(name = 'n'): EventDraft {
  const policy = { base: 'default', criticalKeys: [], ungrounded: 'off', snapshotEvery: 1 }
  const data: Json = { v: 1, name, tags: [], policy, requestDigest: `sha256:${'0'.repeat(64)}` }
  return { type: 'RunStarted', data }
}

function founded(kid: string): EventDraft {
  return { type: 'LedgerCreated', data: { v: 1, ledgerId: v7(), origin: 'x.example', kid, verifierKey: 'x' } }
}

const completed: EventDraft = { type: 'RunCompleted', data: { v: 1 } }

async function codesOf(ring: KeyRing, written: readonly PlacedRecord[], again = true): Promise<readonly string[]> {
  const faults: string[] = []
  await verifyRecords([written], {
    keys: { ring, runKeys: createRunKeys(ring) },
    wholeStore: true,
    onFault: ({ code, position }) => void faults.push(position === undefined ? code : `${code} ${position}`),
    ...(again && { again: () => [written] }),
  })
  return faults
}

records('a run begins with RunStarted, the ledger with LedgerCreated, and neither comes again', async () => {
  const ring = createKeyRing(NOW, randomBytes)
  const { kid } = currentKey(ring)
  const writer = writerOf(ring)
  writer.write('ledger-system', [founded(kid), founded(kid)])
  writer.write('run-acme.a', [completed])
  writer.write('run-acme.b', [started(), started()])
  assert.equal(await codesOf(ring, writer.records), ['first-event 2', 'first-event 3', 'first-event 5'])
})

records('keys are used in the order in which the ledger announced them', async () => {
  const first = createKeyRing(NOW, randomBytes)
  const ring = rotateKeyRing(rotateKeyRing(first, NOW, randomBytes), NOW, randomBytes)
  const [k1 = '', k2 = '', k3 = ''] = ring.keys.map(({ kid }) => kid)
  const rotated = (kid: string, previousKid: string): EventDraft => ({
    type: 'KeyRotated',
    data: { v: 1, kid, previousKid },
  })

  const good = writerOf(ring)
  good.write('ledger-system', [founded(k1)], { kid: k1 })
  good.write('run-acme.a', [started()], { kid: k1 })
  good.write('ledger-system', [rotated(k2, k1)], { kid: k1 })
  good.write('run-acme.a', [completed], { kid: k2 })
  assert.equal(await codesOf(ring, good.records), [])

  const early = writerOf(ring)
  early.write('ledger-system', [founded(k1)], { kid: k1 })
  early.write('run-acme.a', [started()], { kid: k2 })
  assert.equal(await codesOf(ring, early.records), ['key-not-announced 2'])

  const skipped = writerOf(ring)
  skipped.write('ledger-system', [founded(k1), rotated(k3, k2)], { kid: k1 })
  assert.equal(await codesOf(ring, skipped.records), ['key-rotation 2'])

  const backwards = writerOf(ring)
  backwards.write('ledger-system', [founded(k2)], { kid: k2 })
  backwards.write('run-acme.a', [started()], { kid: k2 })
  backwards.write('run-acme.a', [completed], { kid: k1 })
  assert.equal(await codesOf(ring, backwards.records), ['key-order 3'])
})

records('an unknown type, version or body under a seal that fits is named, and is no tampering', async () => {
  const ring = createKeyRing(NOW, randomBytes)
  const writer = writerOf(ring)
  writer.write('ledger-system', [founded(currentKey(ring).kid)])
  writer.write('run-acme.a', [
    started(),
    { type: 'FromTheFuture', data: { v: 1 } },
    { type: 'RunCompleted', data: { v: 99 } },
    { type: 'RunCompleted', data: { v: 1, extra: true } },
  ])
  assert.equal(await codesOf(ring, writer.records), ['unknown-type 3', 'body-version 4', 'body-schema 5'])
  const result = await verifyRecords([writer.records], {
    keys: { ring, runKeys: createRunKeys(ring) },
    onFault: () => {},
  })
  assert.is(result.verdict, 'UNVERIFIABLE')
})

records('one event id for two events is noticed, in one stream and across streams', async () => {
  const ring = createKeyRing(NOW, randomBytes)
  const writer = writerOf(ring)
  const id = v7()
  writer.write('ledger-system', [founded(currentKey(ring).kid)])
  writer.write('run-acme.a', [started(), completed], { newId: () => id })
  writer.write('run-acme.b', [started()], { newId: () => id })
  assert.equal(await codesOf(ring, writer.records), ['duplicate-id 3', 'duplicate-id 4'])
})

records('a clock that was behind is counted, not blamed', async () => {
  const ring = createKeyRing(NOW, randomBytes)
  const writer = writerOf(ring)
  writer.write('ledger-system', [founded(currentKey(ring).kid)])
  writer.write('run-acme.a', [started()])
  writer.write('run-acme.a', [completed], { clock: '2025-12-31T23:59:59.000Z' })
  const result = await verifyRecords([writer.records], {
    keys: { ring, runKeys: createRunKeys(ring) },
    onFault: () => {},
  })
  assert.is(result.verdict, 'VERIFIED')
  assert.is(result.behindClock, 1)
})

records(
  'an event whose position does not come after the one before it is named, where all else is in order (A28)',
  async () => {
    const ring = createKeyRing(NOW, randomBytes)
    const history = writerOf(ring)
    for (const run of ['one', 'two']) history.write(`run-acme.${run}`, [started(run)])
    const [first, second] = history.records
    if (first === undefined || second === undefined) throw new Error('two were written')
    assert.ok((await codesOf(ring, [first, { ...second, position: '1' }])).includes('position-order 1'))
    assert.ok((await codesOf(ring, [{ ...first, position: '9' }, second])).includes('position-order 2'))
  },
)

records('an empty source is INCOMPLETE', async () => {
  const ring = createKeyRing(NOW, randomBytes)
  assert.equal(await codesOf(ring, []), ['empty'])
})

records('the filter of ids never misses a repeat, and seldom sees one that is none', () => {
  const seen = createSeenIds(2 ** 22)
  const ids = Array.from({ length: 20_000 }, () => v7())
  const falsely = ids.filter((id) => seen.mayRepeat(id)).length
  assert.ok(falsely < 20, String(falsely))
  assert.ok(ids.every((id) => seen.mayRepeat(id)))
})

records('an id that was seen as a text is known among the bytes of many, and the other way round', () => {
  const seen = createSeenIds(2 ** 22)
  const ids = Array.from({ length: 10_000 }, () => v7())
  const bytesOf = (some: readonly string[]) => Buffer.from(some.join(''), 'latin1')
  const repeated: string[] = []
  for (let at = 0; at < ids.length; at += 100) {
    const some = ids.slice(at, at + 100)
    if (at % 200 === 0) repeated.push(...seen.repeatedIn(bytesOf(some), some.length))
    else repeated.push(...some.filter((id) => seen.mayRepeat(id)))
  }
  assert.ok(repeated.length < 20, String(repeated.length))
  assert.equal(seen.repeatedIn(bytesOf(ids), ids.length), ids)
  assert.ok(ids.every((id) => seen.mayRepeat(id)))
})

records.run()
