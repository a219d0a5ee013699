import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { alice, ownCaller, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('ledger: one event checked')

type Change = (record: ReadRecord) => ReadRecord

/** A ledger whose store gives back a changed record from a moment on. */
async function opened() {
  const inner = openMemoryStore()
  let change: Change = (record) => record
  const store = wrapStore(inner, {
    readStream: async function* (...args: Parameters<typeof inner.readStream>) {
      for await (const page of inner.readStream(...args)) yield page.map((record) => change(record))
    },
  })
  const test = await testLedger({ store })
  await test.run('r', { kind: 'start', body: { id: 'r', name: 'r' } })
  await test.run('r', { kind: 'envelope', body: { agent: 'a', payload: { note: 'one' } } })
  await test.run('r', { kind: 'complete', body: {} })
  const codes = async (revision: number) => {
    const found = await test.ledger.checkEvent(alice, 'r', revision)
    return found.ok ? found.value.faults.map(({ code }) => code) : found.refusal.code
  }
  return { test, codes, tamper: (next: Change) => (change = next) }
}

test('events as they were sealed fit, from the first to the last; beyond it there is none', async () => {
  const { test: inner, codes } = await opened()
  await using _ = inner
  for (const revision of [0, 1, 2]) assert.equal(await codes(revision), [])
  assert.is(await codes(3), 'unknown-step')
})

test('a changed body, header or link is named, and the neighbours say what concerns them (A28)', async () => {
  const { test: inner, codes, tamper } = await opened()
  await using _ = inner
  const only = (revision: number, changed: Change) =>
    tamper((record) => (record.revision === revision ? changed(record) : record))
  only(1, (record) => ({ ...record, data: record.data.replace('one', 'two') }))
  assert.equal(await codes(1), ['data-digest'])
  only(1, (record) => ({ ...record, header: record.header.replace('alice', 'malic') }))
  assert.equal(await codes(1), ['mac'])
  assert.equal(await codes(2), ['prev'])
  tamper((record) => record)
  assert.equal(await codes(1), [])
})

test('a run of another tenant has no event to check (A11)', async () => {
  const { test: inner } = await opened()
  await using _ = inner
  const found = await inner.ledger.checkEvent(ownCaller('beta', { actor: 'alice' }), 'r', 0)
  assert.is(found.ok ? '' : found.refusal.code, 'run-not-found')
})

test.run()
