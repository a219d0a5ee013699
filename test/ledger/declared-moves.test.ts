import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fork } from '../support/fork-driver.ts'
import { drive, ok, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite('places that agents declared to move, in the record')

const NEXT = { path: '/book/next', as: 'cursor', reason: 'where the agent is' }

for (const winner of ['a', 'b'] as const) {
  test(`a branch brings what it declared where it is merged: the vote goes to ${winner} (JUD-45)`, async () => {
    await using opened = await testLedger()
    const run = drive(opened, 'r')
    await run.start({ policy: { suspect: 'refuse' } })
    ok(await run.hand('a', { book: { next: 'x' } }))
    const open = await fork(run, 'vote', ['a', 'b'])
    ok(await open.report('a', { output: { by: 'a' }, moves: [NEXT], score: winner === 'a' ? 2 : 0 }))
    ok(await open.report('b', { output: { by: 'b' }, score: 1 }))
    ok(await open.join())
    assert.is((await run.hand('a', { book: { next: 'y' }, by: winner })).ok, winner === 'a')
    await verifiedFold(opened, 'r')
    assert.is((await replayed(opened.ledger, 'r')).verdict, 'VERIFIED')
  })
}

test('a union has the declarations of all its branches, and is judged with them (JUD-45)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start({ policy: { suspect: 'refuse' } })
  ok(await run.hand('a', { book: { next: 'x', seen: 1 } }))
  const open = await fork(run, 'union', ['a', 'b', 'c'])
  assert.is((await open.offer('a', { book: { next: 'y' } }, { moves: [NEXT] })).status, 'offered')
  const seen = { path: '/book/seen', as: 'counter', reason: 'pages seen' }
  assert.is((await open.offer('b', { book: { seen: 2 } }, { moves: [seen] })).status, 'offered')
  const others = { path: '/book/next', as: 'free', reason: 'why not' }
  assert.is((await open.offer('c', {}, { moves: [others] })).status, 'refused')
  const joined = ok(await open.join())
  assert.equal([joined.outcome, joined.context], ['joined', { book: { next: 'y', seen: 2 } }])
  const found = await opened.ledger.run(alice, 'r')
  assert.ok(found.ok)
  assert.equal(found.value.declared, [
    { ...NEXT, agent: 'joiner', step: 2 },
    { ...seen, agent: 'joiner', step: 2 },
  ])
  ok(await run.hand('z', { book: { next: 'z', seen: 3 } }))
  await verifiedFold(opened, 'r')
  assert.is((await replayed(opened.ledger, 'r')).verdict, 'VERIFIED')
})

test('what an event says is in force is what another process judges by (JUD-45)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  const free = { ...NEXT, as: 'free' }
  ok(await run.hand('a', { book: { next: 'x', at: 1 } }, { moves: [free, NEXT] }))
  const [event] = (await run.events()).filter(({ header }) => header.type === 'EnvelopeAccepted')
  assert.equal([event?.data.moves, event?.data.movesRefused], [[free, NEXT], [0]])
  const again = await opened.sibling()
  const other = drive({ ledger: again }, 'r')
  const body = ok(await other.hand('b', { book: { next: 'y', at: 2 } }))
  assert.equal(
    (body.findings as { path: string; suspect: boolean }[]).map(({ path, suspect }) => [path, suspect]),
    [['/book/at', true]],
  )
  await again[Symbol.asyncDispose]()
})

test.run()
