import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApprovalDenied } from '../../src/agent/loop/tool-error.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { eventually, within } from '../support/within.ts'
import { HOMES, rejection, type TestHome } from './homes.ts'

const BEFORE = { order: { carrier: 'K7Q', gate: 'B22' } }
const AFTER = { order: { carrier: 'X9P', gate: 'B22' } }

for (const { name, open } of HOMES) {
  const test = suite(`calls that wait for suspects ${name}`)

  /** Hands over something that nothing explains, looks, and then pays. */
  const life = (cs: Countersign, done: string[]) => {
    const look = cs.tool(() => done.push('looked'), { name: 'look', effects: 'none' })
    const pay = cs.tool((_: number) => done.push('paid'), { name: 'pay', compensate: 'not-needed' })
    return cs.run({ id: 'r', policy: { suspect: 'hold' } }, async (run) => {
      await run.handoff(BEFORE, { agent: 'a' })
      await pay(1)
      await run.handoff(AFTER, { agent: 'b' })
      await look()
      return pay(2)
    })
  }

  const heldCall = (bob: Countersign) =>
    eventually(async () => {
      for await (const approval of bob.approvals.list()) return approval
      return undefined
    }, 'a call that waits')

  const review = async (home: TestHome, decision: 'confirmed' | 'rejected') => {
    const person = await home.as('bob')
    await heldCall(person)
    const connection = await home.connect('bob')
    return connection.execute('r', { kind: 'review', body: { suspects: ['2.1'], decision, reason: 'asked' } })
  }

  test('the call with an effect is not made before somebody has approved it, the one without is (JUD-65)', async () => {
    await using home = await open()
    const done: string[] = []
    const paid = life(home.process(), done)
    const bob = await home.as('bob')
    const approval = await heldCall(bob)
    assert.equal(done, ['paid', 'looked'])
    assert.equal(approval.needs[0]?.source, 'suspect')
    await bob.approvals.grant(approval)
    await within(paid, 'the payment')
    assert.equal(done, ['paid', 'looked', 'paid'])
  })

  test('it goes on once the suspect is confirmed, and ends in a denial once it is rejected (JUD-64, JUD-66)', async () => {
    for (const decision of ['confirmed', 'rejected'] as const) {
      await using home = await open()
      const done: string[] = []
      const paid = life(home.process(), done)
      const reviewed = review(home, decision)
      if (decision === 'confirmed') await within(paid, 'the payment')
      else assert.ok((await rejection(paid)) instanceof ApprovalDenied)
      assert.ok((await reviewed).ok)
      assert.equal(done, decision === 'confirmed' ? ['paid', 'looked', 'paid'] : ['paid', 'looked'])
    }
  })

  test.run()
}
