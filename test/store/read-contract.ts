/** @module The part of the store's contract that reads: ranges, directions, pages, positions and tenants. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, type ReadRecord } from '../../src/store/event-store.ts'
import { appendOf, collect, headerId, record, records } from '../support/records.ts'
import type { ContractOptions, OpenStore } from './contract.ts'

export function readContract(
  name: string,
  open: OpenStore,
  { nameStream = (stream) => stream }: ContractOptions,
): void {
  const test = suite(`${name}: read`)

  test('a stream that does not exist reads as nothing, and so does an empty store', async () => {
    await using store = await open()
    assert.equal(await collect(store.readStream(nameStream('run-acme.none'))), [])
    assert.equal(await collect(store.readStream(nameStream('run-acme.none'), { direction: 'backwards' })), [])
    if (nameStream('') === '') assert.is(await store.end(), undefined)
  })

  test('a range holds both its ends, in either direction', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    await store.append(appendOf(stream, NO_STREAM, 10))
    const revisions = async (...range: Parameters<typeof store.readStream>): Promise<readonly number[]> =>
      (await collect(store.readStream(...range))).map(({ revision }) => revision)

    assert.equal(await revisions(stream, { from: 3, to: 5 }), [3, 4, 5])
    assert.equal(await revisions(stream, { from: 3, to: 5, direction: 'backwards' }), [5, 4, 3])
    assert.equal(await revisions(stream, { from: 8 }), [8, 9])
    assert.equal(await revisions(stream, { to: 1, direction: 'backwards' }), [1, 0])
    assert.equal(await revisions(stream, { from: 9, to: 9 }), [9])
    assert.equal(await revisions(stream, { from: 5, to: 4 }), [])
    assert.equal(await revisions(stream, { from: 10 }), [])
  })

  test('a record is found at its own position and at no other', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    await store.append(appendOf(stream, NO_STREAM, 3))
    const all = await collect(store.readStream(stream))
    for (const each of all) assert.equal(await store.recordAt(each.position), each)
    assert.throws(() => store.comparePositions('junk', all[0]?.position ?? ''), TypeError)
    await store.recordAt('junk').then(
      () => assert.unreachable('junk is no position'),
      (error: unknown) => assert.instance(error, TypeError),
    )
  })

  test('a long stream comes in several pages that lose and repeat nothing', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    const written = records(1_100)
    await store.append({ stream, expectedRevision: NO_STREAM, records: written })
    const ids = written.map(({ id }) => id)
    assert.equal((await collect(store.readStream(stream))).map(headerId), ids)
    assert.equal((await collect(store.readStream(stream, { direction: 'backwards' }))).map(headerId), ids.toReversed())
    let pages = 0
    for await (const page of store.readStream(stream)) {
      assert.ok(page.length > 0)
      pages += 1
    }
    assert.ok(pages > 1)
  })

  test('large bodies come in small pages', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.r1')
    for (let revision = 0; revision < 12; revision += 1) {
      await store.append({ stream, expectedRevision: revision - 1, records: [record({ bytes: 512 * 1024 })] })
    }
    for await (const page of store.readStream(stream)) assert.ok(page.length <= 256)
    assert.is((await collect(store.readStream(stream))).length, 12)
  })

  test('a record carries its stream, its revision and a position that only rises (STR-18)', async () => {
    await using store = await open()
    const streams = ['run-acme.a', 'run-acme.b'].map(nameStream)
    const started = await store.end()
    for (let revision = 0; revision < 5; revision += 1) {
      for (const stream of streams) await store.append(appendOf(stream, revision - 1))
    }
    const all = await collect(store.readAll({ after: started }))
    assert.equal(
      all.map(({ stream }) => stream),
      Array.from({ length: 5 }, () => streams).flat(),
    )
    assert.equal(
      all.map(({ revision }) => revision),
      [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    )
    for (const [index, { position }] of all.entries()) {
      const next = all[index + 1]
      if (next !== undefined) assert.ok(store.comparePositions(position, next.position) < 0)
    }
    assert.is(await store.end(), all.at(-1)?.position)
    assert.is(store.comparePositions(all[0]?.position ?? '', all[0]?.position ?? ''), 0)
  })

  test('`after` is left out and `until` is let in, wherever one cuts', async () => {
    await using store = await open()
    const started = await store.end()
    await store.append(appendOf(nameStream('run-acme.a'), NO_STREAM, 6))
    const all = await collect(store.readAll({ after: started }))
    for (const [index, { position }] of all.entries()) {
      assert.equal(await collect(store.readAll({ after: position })), all.slice(index + 1))
      assert.equal(await collect(store.readAll({ after: started, until: position })), all.slice(0, index + 1))
    }
    const [low, high] = [all[1]?.position, all[3]?.position]
    assert.equal(await collect(store.readAll({ after: low, until: high })), all.slice(2, 4))
    assert.equal(await collect(store.readAll({ after: high, until: low })), [])
  })

  test('a tenant’s read holds its runs, its ledger and who read them, and nothing of a tenant with a like name', async () => {
    await using store = await open()
    const tenant = nameStream('acme')
    const writer = '01890a5d-ac96-774b-bcce-b302099a8057'
    const own = [`run-${tenant}.r1`, `ledger-${tenant}`, `run-${tenant}.ledger-x`, `access-${tenant}.${writer}`]
    const foreign = [
      `run-${tenant}-2.r1`,
      `run-${tenant}2.r1`,
      `ledger-${tenant}-2`,
      `access-${tenant}-2.${writer}`,
      `access-${tenant}2.${writer}`,
      `run-x${tenant}.r1`,
      'run-other.r1',
    ]
    const started = await store.end()
    for (const stream of [...own, ...foreign].map((each) => each.replace('run-other', nameStream('run-other')))) {
      await store.append(appendOf(stream, NO_STREAM, 2))
    }
    const found = await collect(store.readAll({ after: started, tenant }))
    assert.equal([...new Set(found.map(({ stream }) => stream))], own)
    assert.is(found.length, own.length * 2)
    for (const wildcard of ['%', '_cme', 'acm_', '*', 'ACME', '']) {
      assert.equal(await collect(store.readAll({ after: started, tenant: wildcard })), [])
    }
  })

  test('a tenant’s few events are found behind many of another', async () => {
    await using store = await open()
    const [few, many] = [nameStream('few'), nameStream('many')]
    const started = await store.end()
    await store.append(appendOf(`run-${few}.r1`, NO_STREAM))
    for (let index = 0; index < 6; index += 1) await store.append(appendOf(`run-${many}.r${index}`, NO_STREAM, 800))
    await store.append(appendOf(`run-${few}.r1`, 0))
    const found = await collect(store.readAll({ after: started, tenant: few }))
    assert.equal(
      found.map(({ revision }) => revision),
      [0, 1],
    )
  })

  test('a reader that pauses sees what was appended meanwhile, in order', async () => {
    await using store = await open()
    const stream = nameStream('run-acme.a')
    const started = await store.end()
    await store.append(appendOf(stream, NO_STREAM, 600))
    const seen: ReadRecord[] = []
    for await (const page of store.readAll({ after: started })) {
      if (seen.length === 0) await store.append(appendOf(stream, 599, 10))
      seen.push(...page)
    }
    assert.equal(
      seen.map(({ revision }) => revision),
      Array.from({ length: 610 }, (_, revision) => revision),
    )
  })

  test('text that is no position of this store is a TypeError, never a place', async () => {
    await using store = await open()
    await store.append(appendOf(nameStream('run-acme.a'), NO_STREAM))
    const [end = ''] = [await store.end()]
    for (const junk of ['', ' 1', '-1', '1.5', '1e3', '0x10', 'abc', '٣', `${end} `, `${end}\n`]) {
      assert.throws(
        () => store.comparePositions(junk, end),
        (error: unknown) => error instanceof TypeError,
      )
      assert.throws(
        () => store.comparePositions(end, junk),
        (error: unknown) => error instanceof TypeError,
      )
      const outcome = await collect(store.readAll({ after: junk })).catch((error: unknown) => error)
      assert.instance(outcome, TypeError)
    }
  })

  test.run()
}
