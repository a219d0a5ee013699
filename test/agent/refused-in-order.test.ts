/** What the ledger refuses beside calls comes in the same order live, on a resume and on a replay. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { httpConnection } from '../../src/agent/runtime/http-connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { createClient } from '../../src/client/client.ts'
import { testEdge } from '../support/test-edge.ts'
import { HOMES } from './homes.ts'

/** Handoffs that are refused as long as a fork is open, beside calls of a pool: the order is what the code sees. */
function beside(cs: Countersign) {
  const call = cs.tool({ name: 'call', execute: (told: unknown) => told, compensate: 'not-needed' })
  const quick = cs.tool({ name: 'quick', effects: 'none', execute: (told: unknown) => told })
  return async (run: Run) => {
    let order = ''
    const gate = Promise.withResolvers<number>()
    const fork = run.fork(
      [{ agent: 'b', run: async (_, { run: branch }) => ({ k: await branch.once('gate', () => gate.promise) }) }],
      { join: 'union' },
    )
    for (let i = 0; i < 6; i += 1) {
      let count = 0
      const then = async (who: string) => {
        order += who
        await call({ i, who, count: count++ })
      }
      await Promise.all([
        run.handoff({ facts: [`x${i}`] }, { agent: 'desk' }).catch(() => then('h')),
        quick({ i }).then(() => then('q')),
        call({ i }).then(() => then('c')),
      ])
    }
    gate.resolve(1)
    await fork
    return order
  }
}

const http = suite('refusals over HTTP')

http('a refusal says the revision of the event that records it, alone and in a batch (RUN-191)', async () => {
  await using edge = await testEdge()
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  const connection = httpConnection(createClient({ url: 'http://ledger.test', token: await edge.token(), fetch }))
  await connection.execute('', { kind: 'start', body: { id: 'r', name: 'r', budget: { tokens: 1 } } })
  const claim = (n: number) => ({ kind: 'claim', body: { tool: 't', args: { n }, reserve: { tokens: 2 } } }) as const
  const alone = await connection.execute('r', claim(0))
  const batch = await connection.batch(
    'r',
    [1, 2].map((n) => ({ command: claim(n) })),
  )
  const places = [alone, ...batch].map((reply) => (reply.ok ? undefined : [reply.problem.code, reply.problem.revision]))
  assert.equal(
    places,
    [1, 2, 3].map((revision) => ['budget-exceeded', revision]),
  )
})

http.run()

for (const { name, open } of HOMES) {
  const order = suite(`refusals beside calls ${name}`)

  order(
    'A591 a refusal that is caught beside calls is given at the place of its event (RUN-170, RUN-191)',
    async () => {
      await using home = await open()
      const live = home.process()
      const output = await live.run({ id: 'r', policy: { ungrounded: 'off' } }, beside(live))
      const again = home.process()
      assert.is((await again.replay('r', beside(again))).output, output)
    },
  )

  order.run()
}
