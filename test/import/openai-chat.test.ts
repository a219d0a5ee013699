import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { ClaimCall, CompleteRun, FailRun, PostEnvelope, StartRun } from '../../schemas/requests.ts'
import { RUN_ID_PATTERN } from '../../schemas/value-forms.ts'
import { type ImportedRun, openaiChatRun } from '../../src/import/openai-chat.ts'

const chat = suite('import: OpenAI chat transcripts')
const SCOPE = { tenant: 'acme', actor: 'a' }

function runOf(line: Json): ImportedRun {
  const transcript = openaiChatRun(line, SCOPE)
  if (!transcript.ok) throw new Error(transcript.message)
  return transcript.run
}

const asks = (...ids: string[]): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'tool', arguments: `{"id":"${id}"}` } })),
})
const answers = (id: string, content: string): Json => ({ role: 'tool', tool_call_id: id, content })

function settled(run: ImportedRun): readonly (readonly [string, unknown])[] {
  return run.steps.flatMap((step) =>
    step.kind === 'settle' ? [[step.key, 'result' in step.outcome ? step.outcome.result : 'unknown'] as const] : [],
  )
}

chat('a result settles the nearest earlier call of its id that has none yet', () => {
  const messages = [asks('a'), asks('a'), answers('a', '2'), answers('a', '1'), asks('a'), answers('a', '3')]
  assert.equal(settled(runOf({ id: 'r', messages })), [
    ['m1.c0', 2],
    ['m0.c0', 1],
    ['m4.c0', 3],
  ])
})

chat('calls side by side are told apart by their place', () => {
  const messages = [asks('a', 'b', 'a'), answers('b', '"b"'), answers('a', '"late"'), answers('a', '"early"')]
  assert.equal(settled(runOf({ id: 'r', messages })), [
    ['m0.c1', 'b'],
    ['m0.c2', 'late'],
    ['m0.c0', 'early'],
  ])
})

chat('a result that is not JSON by the rules of the ledger stays the text that it was', () => {
  const texts = ['Error: no', '', '{"a":1,"a":2}', '12345678901234567890', '{"__proto__":1}', '1e999']
  for (const text of texts) {
    assert.equal(settled(runOf({ id: 'r', messages: [asks('a'), answers('a', text)] })), [['m0.c0', text]])
  }
})

chat('a result without its call refuses the line', () => {
  for (const messages of [
    [answers('a', '1')],
    [asks('a'), answers('b', '1')],
    [asks('a'), answers('a', '1'), answers('a', '2')],
  ]) {
    assert.is(openaiChatRun({ id: 'r', messages }, SCOPE).ok, false)
  }
})

chat('a line that is no transcript is refused, whatever it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.is(openaiChatRun(value as Json, SCOPE).ok, false)
    }),
  )
})

chat('a run gets the id of its line where that can be one, else one that the same line gives again', () => {
  const messages = [{ role: 'user', content: 'x' }]
  assert.is(runOf({ id: 'task-0', messages }).runId, 'task-0')
  const derived = runOf({ id: 'not / an id', messages }).runId
  assert.match(derived, RUN_ID_PATTERN)
  assert.is(runOf({ id: 'not / an id', messages }).runId, derived)
  assert.is.not(runOf({ id: 'another / id', messages }).runId, derived)
  assert.match(runOf({ messages }).runId, RUN_ID_PATTERN)
})

chat('every command fits the schema of its request, and the dialogue is kept', () => {
  const messages = [
    { role: 'system', content: 's' },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
    asks('a'),
    answers('a', '{}'),
  ]
  const run = runOf({
    id: 'r',
    model: 'm',
    reward: 0.5,
    tags: ['t'],
    messages: [...messages, { role: 'assistant', content: 'bye' }],
  })
  assert.ok(StartRun.safeParse(run.start).success)
  for (const step of run.steps) if (step.kind === 'claim') assert.ok(ClaimCall.safeParse(step.body).success)
  assert.equal(run.end, { kind: 'complete', body: { output: 'bye' } })
  assert.ok(CompleteRun.safeParse(run.end.body).success)
  const { dialogue, members } = run.start.input as { dialogue: readonly { message: number }[]; members: unknown }
  assert.equal(
    dialogue.map(({ message }) => message),
    [0, 1],
  )
  const said = run.steps.flatMap((step) => (step.kind === 'envelope' ? [step.body] : []))
  assert.equal(said, [{ agent: 'm', payload: { message: 'bye' } }])
  for (const body of said) assert.ok(PostEnvelope.safeParse(body).success)
  assert.equal(members, { id: 'r', reward: 0.5 })
  assert.equal(run.start.tags, ['imported', 't'])
})

chat('a run with an unanswered call fails, and says which', () => {
  const run = runOf({ id: 'r', messages: [asks('a', 'b'), answers('b', '1'), { role: 'assistant', content: 'done!' }] })
  assert.equal(settled(run), [
    ['m0.c1', 1],
    ['m0.c0', 'unknown'],
  ])
  assert.is(run.end.kind, 'fail')
  assert.ok(FailRun.safeParse(run.end.body).success)
  assert.match(JSON.stringify(run.end), /m0\.c0/)
})

chat.run()
