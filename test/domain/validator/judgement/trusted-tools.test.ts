import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, dumpEvidence, emptyEvidence, loadEvidence } from '../../../../src/domain/validator/evidence.ts'
import { toolQuestion } from '../../../../src/domain/validator/grounding/answers.ts'
import { sinceAfter } from '../../../../src/domain/validator/grounding/established-since.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: trusted tools')

/** A call: its tool, its arguments, and what it answered. */
type Call = readonly [tool: string, args: Json | undefined, result: Json]

const BEFORE = {
  invoices: [{ invoice_id: 'INV-2024-17', city: 'Bern', total: 1200.5, buyer: 'Ada Ltd' }],
}
const ESTABLISHED: Call = ['get_invoice', { invoice_id: 'INV-2024-17' }, BEFORE.invoices[0] as Json]

/** What is said of the change of one member of the invoice, after the invoice was handed over and these calls were answered. */
function said(
  change: JsonObject,
  calls: readonly Call[],
  policy: PolicyObject = {},
  first: Call = ESTABLISHED,
): string {
  const evidence = emptyEvidence(7)
  const add = ([tool, args, value]: Call, revision: number) =>
    addToolResult(evidence, { value, revision, asked: toolQuestion(tool, args), bytes: 0 })
  add(first, 1)
  evidence.results.since = sinceAfter(evidence.results.since, [{}, BEFORE], 2)
  for (const [i, call] of calls.entries()) add(call, i + 3)
  const after = { invoices: [{ ...BEFORE.invoices[0], ...change }] }
  const judged = (from: typeof evidence) => {
    const input = { before: BEFORE, after, policy: resolvePolicy(policy), evidence: from }
    const { verdict, findings } = validateHandoff(input)
    return [verdict, ...findings.map(({ rule, suspect }) => `${rule}${suspect === true ? ' suspect' : ''}`)].join(' ')
  }
  const answer = judged(evidence)
  assert.is(judged(loadEvidence(JSON.parse(JSON.stringify(dumpEvidence(evidence))))), answer, 'as a cached fold has it')
  return answer
}

const TOTAL = 900.25
const PAGE = { title: 'Pay here', invoice_id: 'INV-2024-17', city: 'Bern', total: TOTAL, buyer: 'Ada Ltd' }
const moved: Call['2'] = { ...BEFORE.invoices[0], total: TOTAL }

test('a result moves what its call named, and what its tool had answered before; one that only mentions it moves nothing (JUD-80)', () => {
  const change = { total: TOTAL }
  assert.is(said(change, [['update_invoice', { id: 'inv-2024-17', total: TOTAL }, moved]]), 'accept moved-by-tool')
  assert.is(said(change, [['update', { query: [{ of: 'INV-2024-17' }] }, moved]]), 'accept moved-by-tool')
  assert.is(
    said(change, [['list_invoices', {}, [moved]]], {}, ['list_invoices', {}, [BEFORE.invoices[0] as Json]]),
    'accept moved-by-tool',
  )
  assert.is(said(change, [['unknown_arguments', undefined, moved]]), 'accept moved-by-tool')
  assert.is(
    said(change, [['fetch_page', { url: 'https://a.example/INV-2024-17' }, PAGE]]),
    'accept contradicted suspect',
  )
  assert.is(said(change, [['list_invoices', {}, [moved]]]), 'accept contradicted suspect')
})

test('an untrusted tool moves nothing, contradicts nothing and excuses nothing, however its call names a thing (JUD-80)', () => {
  const named: Call = ['fetch_page', { invoice: 'INV-2024-17' }, PAGE]
  const untrusted = { evidence: [{ tool: 'fetch_page', untrusted: true as const }] }
  assert.is(said({ total: TOTAL }, [named]), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, [named], untrusted), 'reject contradicted disagrees-with-tool')
  const flood = Array.from({ length: 70 }, () => named)
  assert.is(said({ total: TOTAL }, [...flood, ...flood], untrusted), 'reject contradicted disagrees-with-tool')
  const update: Call = ['update_invoice', { id: 'INV-2024-17' }, moved]
  assert.is(said({ total: TOTAL }, [update, ...flood], untrusted), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, [named], { evidence: [{ tool: 'fetch', untrusted: true }] }), 'accept moved-by-tool')
})

test('where a policy names the places that a tool moves, it moves no others (JUD-80)', () => {
  const update: Call = ['set_city', { id: 'INV-2024-17' }, { ...moved, city: 'Biel' } as Json]
  const only = (...moves: string[]) => ({ evidence: [{ tool: 'set_city', moves }] })
  assert.is(said({ city: 'Biel' }, [update], only('/invoices/*/city')), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, [update], only('/invoices/*/city')), 'accept contradicted suspect')
  assert.is(said({ total: TOTAL }, [update], only('/invoices/**')), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, [update], only('/invoices')), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, [update], only()), 'accept contradicted suspect')
})

test('JSON in a text is read as JSON: a result that is a text, and the texts of a result of MCP; an MCP error moves nothing (JUD-81)', () => {
  const text = JSON.stringify(moved)
  const update = (result: Json): readonly Call[] => [['update_invoice', { id: 'INV-2024-17' }, result]]
  assert.is(said({ total: TOTAL }, update(text)), 'accept moved-by-tool')
  assert.is(said({ total: TOTAL }, update({ content: [{ type: 'text', text }] })), 'accept moved-by-tool')
  assert.is(
    said({ total: TOTAL }, update({ content: [{ type: 'text', text: `Done: ${text}` }] })),
    'reject contradicted disagrees-with-tool',
  )
  assert.is(
    said({ total: TOTAL }, update({ content: [{ type: 'text', text: text.slice(1) }] })),
    'reject contradicted disagrees-with-tool',
  )
})

test('of a run and its tenant all that either says of a tool holds (JUD-80)', () => {
  const started = underTenantPolicy(
    { evidence: [{ tool: 'a', untrusted: true }] },
    { evidence: [{ tool: 'b', moves: ['/x'] }] },
  )
  assert.ok(started.ok)
  if (started.ok) assert.is(started.policy.evidence?.length, 2)
})

test.run()
