import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withSharedParts } from '../../../projections/merge.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { addToolResult, emptyEvidence } from '../../../src/domain/validator/evidence.ts'
import { noteOutcome } from '../../../src/domain/validator/grounding/recorded-results.ts'
import { judgedAtOnce } from '../../../src/domain/validator/judge-at-once.ts'
import { type HandoffInput, validateHandoff } from '../../../src/domain/validator/validate.ts'
import { rounds } from '../../support/rounds.ts'
import { context } from './contexts.ts'

const test = suite('handoffs that are judged at once')

const POLICIES = [
  {},
  { free: ['facts'] },
  { protect: ['entities'] },
  { immutable: ['/plan', '/notes/*'] },
  { freeOnly: ['notes'] },
  { base: 'relay' as const },
  { ungrounded: 'off' as const },
  { minConfidence: 1 },
  { invariants: [{ name: 'none', expression: 'after.facts == before.facts' }] },
].map((policy) => resolvePolicy(policy))

/** A context, and what a handoff makes of some of its keys. */
const handoff = fc.tuple(
  context,
  context,
  fc.uniqueArray(fc.constantFrom('plan', 'notes', 'facts', 'entities', 'more')),
)

const evidenceOf = (kind: number) => {
  const evidence = emptyEvidence()
  if (kind === 1) addToolResult(evidence, { value: { id: 1 }, revision: 1, bytes: 10 })
  if (kind === 2) noteOutcome(evidence.results, 'c', { tool: 't', revision: 1 }, true)
  return kind === 3 ? undefined : evidence
}

test('a verdict at once is the one that the whole judgement comes to, whatever policy, agent and tools say', () => {
  let atOnce = 0
  fc.assert(
    fc.property(handoff, fc.constantFrom(...POLICIES), fc.nat(5), fc.nat(3), (documents, policy, more, kind) => {
      const [base, other, keys] = documents
      const before: JsonObject = { ...base, plan: more > 2 ? 'first' : 1 }
      const now: Record<string, JsonObject[string]> = { ...before }
      for (const key of keys) {
        if (Object.hasOwn(other, key)) now[key] = other[key] as JsonObject[string]
        else if (more % 2 === 0) delete now[key]
      }
      const after = withSharedParts(before, now) as JsonObject
      const input: HandoffInput = {
        ...{ before, after, policy },
        ...(more === 1 && { supersedes: [{ path: '/plan', reason: 'new' }] }),
        ...(more === 2 && { writes: ['plan'] }),
        ...(more === 3 && { maxTokens: 5, tokens: 6 }),
        ...(more === 4 && { schema: { required: ['facts'] } }),
      }
      const evidence = evidenceOf(kind)
      const judged = judgedAtOnce(evidence === undefined ? input : { ...input, evidence })
      if (judged === undefined) return
      atOnce += 1
      const { diff: _, ...whole } = validateHandoff(evidence === undefined ? input : { ...input, evidence })
      deepStrictEqual(judged, whole)
    }),
    { numRuns: rounds(600, 5_000) },
  )
  assert.ok(atOnce > 8, `${atOnce} of them were judged at once`)
})

test('what leaves all that is protected in place is judged at once, by whom and with what it may be', () => {
  const before = { facts: [{ id: 'f1', value: 3 }], entities: ['a'], notes: 'n', plan: ['x'] }
  const policy = resolvePolicy({})
  const evidence = emptyEvidence()
  const judge = (after: JsonObject, more: Partial<HandoffInput> = {}) =>
    judgedAtOnce({ before, after, policy, evidence, ...more })?.verdict
  assert.is(judge({ ...before, notes: 'm' }), 'accept')
  assert.is(judge({ ...before, plan: ['y'] }), undefined)
  assert.is(judge({ ...before, plan: ['y'] }, { policy: resolvePolicy({ free: ['plan'] }) }), 'accept')
  assert.is(judge({ facts: before.facts, entities: before.entities, plan: before.plan }), 'accept')
  assert.is(judge({ ...before, summary: 'new' }), undefined)
  assert.is(judge({ ...before, facts: [{ id: 'f1', value: 4 }] }), undefined)
  assert.is(judge({ notes: before.notes }), undefined)
  assert.is(judge(before, { writes: ['notes'] }), undefined)
  assert.is(judge(before, { schema: {} }), undefined)
  assert.is(judge(before, { maxTokens: 1, tokens: 2 }), undefined)
  assert.is(judge(before, { maxTokens: 2, tokens: 2 }), 'accept')
  assert.is(judge(before, { supersedes: [{ path: '/plan', reason: 'new' }] }), undefined)
  assert.is(judge(before, { supersedes: [] }), 'accept')
  assert.is(judge(before, { policy: resolvePolicy('relay') }), undefined)
  assert.is(
    judge({ ...before, entities: ['b'] }, { policy: { ...policy, free: ['entities', 'plan'], criticalKeys: [] } }),
    undefined,
  )
})

test('what the tools answered is heard: nothing is judged at once while an answer is unread, or after a call has failed', () => {
  const before = { facts: ['x'], notes: null }
  const after = { ...before, notes: { callId: 'c', status: 'done' } }
  const [unread, failed] = [emptyEvidence(), emptyEvidence()]
  addToolResult(unread, { value: { id: 1 }, revision: 1, bytes: 10 })
  noteOutcome(failed.results, 'c', { tool: 't', revision: 1 }, true)
  const policy = resolvePolicy({})
  assert.is(judgedAtOnce({ before, after, policy, evidence: unread }), undefined)
  assert.is(judgedAtOnce({ before, after, policy, evidence: failed }), undefined)
  assert.is(validateHandoff({ before, after, policy, evidence: failed }).findings[0]?.rule, 'disagrees-with-tool')
  assert.is(judgedAtOnce({ before, after, policy, evidence: emptyEvidence() })?.verdict, 'accept')
})

test.run()
