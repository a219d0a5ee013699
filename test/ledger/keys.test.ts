import { randomBytes } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { IdentityError } from '../../src/ledger/identity/ledger-identity.ts'
import { createLedgerKeys, type LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { AppendResult } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { rotate, rotated } from '../support/key-rotation.ts'
import { collect } from '../support/records.ts'
import { drive, idempotent, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { eventually } from '../support/within.ts'
import { wrapStore } from '../support/wrap-store.ts'

const keys = suite('keys')

const newKeys = () => createLedgerKeys(new Date().toISOString(), randomBytes)
const kids = async (run: ReturnType<typeof drive>) => (await run.events()).map((event) => event.header.kid)

keys(
  'a new key seals once it is on record; what the old one sealed still verifies, in a cached run and in a cold one (SEAL-10)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const [first] = test.keys.current().ring.keys
    const first_ = ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 1 } } }, idempotent('k')))
    const second = await rotate(test)
    ok(await run.hand('a', { x: 1 }))
    assert.equal(await kids(run), [first?.kid, first?.kid, second])
    const restarted = await test.sibling()
    assert.is((await replayed(restarted, 'r')).verdict, 'VERIFIED')
    // The mark was made under the old key.
    const again = await restarted.execute(
      alice,
      'r',
      { kind: 'usage', body: { agent: 'a', usage: { tokens: 1 } } },
      idempotent('k'),
    )
    assert.equal(ok(again), first_)
    await verifiedFold(test, 'r')
  },
)

keys('a process that has not heard of a rotation does not seal behind the new key with the old one', async () => {
  await using test = await testLedger()
  const before = test.keys.current()
  const run = drive(test, 'r')
  await run.start({ policy: { protect: [] } })
  // Its own key source is read again only when it meets a key that it does not know.
  await using late = await testLedger({ store: test.store, keys: before })
  ok(await drive(late, 'r').hand('a', { x: 1 }))
  const kid = await rotate(test)
  ok(await run.hand('a', { x: 2 }))
  const silent = late.keys as unknown as { current: () => LedgerKeys }
  silent.current = () => test.keys.current()
  ok(await drive(late, 'r').hand('a', { x: 3 }))
  assert.is((await kids(run)).at(-1), kid)
  await verifiedFold(test, 'r')
})

keys('keys that did not found the ledger do not open it, and write nothing (STR-5)', async () => {
  await using test = await testLedger()
  await drive(test, 'r').start()
  const end = await test.store.end()
  const code = async (given: LedgerKeys) => {
    try {
      await testLedger({ store: test.store, keys: given })
    } catch (error) {
      if (error instanceof IdentityError) return error.code
      throw error
    }
    return 'opened'
  }
  const own = test.keys.current()
  assert.is(await code(newKeys()), 'foreign-keys')
  assert.is(await code({ ...newKeys(), ring: own.ring }), 'foreign-verifier-key')
  assert.is(await code({ ...own, ring: newKeys().ring }), 'foreign-keys')
  assert.is(await test.store.end(), end)
})

keys('a ring that lacks the key of the last rotation does not open the ledger', async () => {
  await using test = await testLedger()
  const old = test.keys.current()
  await rotate(test)
  try {
    await testLedger({ store: test.store, keys: old })
    assert.unreachable('opened')
  } catch (error) {
    assert.is((error as IdentityError).code, 'foreign-keys')
  }
})

keys('ledgers that open one empty store at once agree on who it is (STR-3)', async () => {
  const store = openMemoryStore()
  const given = newKeys()
  const opened = await Promise.all([1, 2, 3].map(() => testLedger({ store, keys: given })))
  assert.is(new Set(opened.map((each) => each.ledger.ledgerId)).size, 1)
  assert.is((await collect(store.readStream('ledger-system'))).length, 1)
  for (const each of opened) await each[Symbol.asyncDispose]()
})

keys(
  'a rotation that the store does not take ends in an error, not in a loop; the old key goes on sealing',
  async () => {
    const store = openMemoryStore()
    let refusals = 0
    const shut = wrapStore(store, {
      append: async (append: Parameters<typeof store.append>[0]): Promise<AppendResult> => {
        if (append.stream !== 'ledger-system' || append.expectedRevision < 0) return store.append(append)
        refusals += 1
        return { kind: 'full', detail: 'test' }
      },
    })
    await using test = await testLedger({ store: shut })
    const run = drive(test, 'r')
    await run.start()
    test.keys.replace(rotated(test.keys.current()))
    await eventually(() => (refusals > 0 ? true : undefined), 'a try')
    for (let left = 0; left < 60; left += 1) await new Promise((resolve) => setTimeout(resolve, 2))
    assert.ok(refusals > 0 && refusals <= 8, `${refusals} tries`)
    ok(await run.hand('a', { x: 1 }))
    assert.is(new Set(await kids(run)).size, 1)
  },
)

keys(
  'a repeat of a settle that left only a digest is answered as the first, also after the key was rotated (F138)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const callId = await run.claimed('t')
    const settle = { result: { secret: 'x' }, record: 'digest' } as const
    ok(await run.settle(callId, settle))
    await rotate(test)
    assert.is(ok(await run.settle(callId, settle)).status, 'succeeded')
    refusedWith(await run.settle(callId, { ...settle, result: { secret: 'y' } }), 'already-settled')
  },
)

keys.run()
