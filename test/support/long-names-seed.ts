/** @module A run in which every name is as long as names may be, without a place to break: what pages have to live with. */

import type { Seeding } from './dashboard-seed.ts'
import { drive, ok } from './run-driver.ts'

const NAME_CHARS = 200
const RUN_ID_CHARS = 128

const long = (text: string, chars = NAME_CHARS): string => text.padEnd(chars, `_${text}`)

export const LONG_RUN = long('reconciliation', RUN_ID_CHARS)
export async function seedLongNames({ ledger, wait }: Seeding): Promise<void> {
  const caller = {
    tenant: 'acme',
    actor: long('orchestrator'),
    principal: long('dana.whitfield'),
    via: [long('gateway')],
  }
  const run = drive({ ledger }, LONG_RUN, caller)
  await run.start({
    name: long('claims-of-the-quarter'),
    tags: [long('tag')],
    budget: { cost: { limit: '9.00', currency: 'USD' } },
  })
  const [agent, tool] = [long('reconciler'), long('payments.transfer')]
  const key = long('total_of_all_invoices')
  const established = { facts: { [key]: long('4000') } }
  ok(await run.hand(agent, { ...established, order: { [key]: long('first'), [long('gate')]: 'B22' } }))
  ok(await run.hand(agent, { ...established, order: { [key]: long('second'), [long('gate')]: 'B22' } }))
  const moves = [{ path: `/order/${long('gate')}`, as: 'cursor' as const, reason: long('where_it_is') }]
  ok(await run.hand(agent, { ...established, order: { [key]: long('second'), [long('gate')]: 'C31' } }, { moves }))
  const usage = { tokens: 1_200, cost: '0.25', currency: 'USD', provider: long('provider'), model: long('model') }
  const call = await run.claimed(tool, {
    agent,
    compensate: { tool: long('payments.refund') },
    args: { [key]: long('to') },
  })
  wait(1_000)
  ok(await run.settle(call, { result: { [key]: long('done') }, usage }))
  const doubtful = await run.claimed(long('letters.send'), { agent, args: { [key]: long('letter') } })
  ok(await run.settle(doubtful, { unknown: { reason: long('the_line_broke') } }))
  await run.hand(agent, { facts: {} })
}
