import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { randomFrom } from '../domain/validator/contexts.ts'
import { judgedLeaves, withOther } from '../domain/validator/judgement/changes-of-form.ts'
import { CONTEXTS, nextStep } from '../domain/validator/judgement/next-step.ts'
import { type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('runs of 25 steps that keep state and call tools')

const STEPS = 25

test('an innocent run is never refused, and one contradiction at a random step is refused at that step (JUD-10, JUD-19)', async () => {
  await using ledger = await testLedger()
  assert.ok(CONTEXTS.size >= 6, `${CONTEXTS.size} domains`)
  let seed = 40
  for (const [domain, first] of CONTEXTS) {
    seed += 1
    const random = randomFrom(seed)
    const run = domain.replaceAll(/[^a-z]/g, '-')
    await ledger.run('', {
      kind: 'start',
      body: { id: run, name: domain, policy: { ungrounded: 'warn', suspect: 'refuse' } },
    })
    const wrongAt = 2 + Math.floor(random() * (STEPS - 1))
    const leaves = judgedLeaves(first)
    const leaf = leaves[Math.floor(random() * leaves.length)] ?? []
    let context = first
    assert.is(await handOver(ledger, run, context), 'accepted', domain)
    for (let step = 1; step <= STEPS; step += 1) {
      const result = await looked(ledger, run, step)
      const after = { ...nextStep(context, step), last_lookup: result }
      if (step === wrongAt) {
        const refused = await handOver(ledger, run, withOther(after, leaf, random))
        assert.match(refused, /^(?:contradicted|critical|duplicate)/, `${domain}, step ${step}, ${leaf.join('/')}`)
      }
      assert.is(await handOver(ledger, run, after), 'accepted', `${domain}, step ${step}`)
      context = after
    }
  }
})

/** A tool is called, and answers what the agent keeps of it, without an id: the next answer is another. */
async function looked(ledger: TestLedger, run: string, step: number): Promise<JsonObject> {
  const result = { waiting: 100 + 7 * step, checked_at: `2025-01-01T${10 + (step % 12)}:00:00Z` }
  const claim = await ledger.run(run, { kind: 'claim', body: { tool: 'look_up', args: { step } } })
  const callId = claim.ok ? String(claim.body.callId) : ''
  const settled = await ledger.run(run, { kind: 'settle', callId, body: { fence: 1, result } })
  assert.ok(settled.ok)
  return result
}

async function handOver(ledger: TestLedger, run: string, payload: JsonObject): Promise<string> {
  const outcome = await ledger.run(run, { kind: 'envelope', body: { agent: 'clerk', payload } })
  if (outcome.ok) return 'accepted'
  const findings = (outcome.refusal.evidence?.findings ?? []) as { rule: string; path: string }[]
  return findings.map(({ rule, path }) => `${rule} ${path}`).join() || outcome.refusal.code
}

test.run()
