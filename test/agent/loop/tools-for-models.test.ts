import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { agent, type Message, type Model, open, ScriptedModel, type ToolDescription } from '../../../src/agent/index.ts'
import { codeOf, rejection } from '../homes.ts'

const test = suite('what a model learns about tools')

const told = (tools: ToolDescription[][]): Model => {
  return (_messages, described) => {
    tools.push([...described])
    return { role: 'assistant', content: 'done' }
  }
}

const thrownBy = (fn: () => unknown): unknown => {
  try {
    fn()
  } catch (error) {
    return error
  }
  throw new Error('it should have thrown')
}

test('a schema comes of a Standard Schema or is written by hand; a tool without one is an error before a model is called (RUN-83)', async () => {
  await using cs = await open({ path: ':memory:' })
  const parsed = cs.tool({ name: 'parsed', input: z.object({ n: z.number() }), execute: ({ n }) => n })
  const byHand = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const written = cs.tool(({ city }: { city: string }) => city, { name: 'written', parameters: byHand })
  const seen: ToolDescription[][] = []
  await cs.run({ name: 'ask' }, () => agent({ model: told(seen), tools: [parsed, written] }).generate({ prompt: 'x' }))
  const [first, second] = seen[0] ?? []
  assert.equal(first?.parameters.properties, { n: { type: 'number' } })
  assert.equal(second?.parameters, byHand)

  const bare = cs.tool((city: string) => city, { name: 'bare' })
  const mute = { '~standard': { version: 1, vendor: 'mute', validate: (value: unknown) => ({ value }) } } as const
  const without = cs.tool({ name: 'without', input: mute, execute: (value) => value })
  const model = new ScriptedModel([])
  for (const tool of [bare, without]) {
    const error = thrownBy(() => agent({ model, tools: [tool] }))
    assert.is(codeOf(error), 'tool-without-schema')
    assert.match(String(error), new RegExp(`${tool.toolName}.*parameters`))
    agent({ model, tools: [{ tool, parameters: { type: 'object' } }] })
  }
})

test('a wrapped function gets the object, or the list in it; one of several arguments takes no object for them (RUN-83)', async () => {
  await using cs = await open({ path: ':memory:' })
  const got: unknown[][] = []
  const one = cs.tool((...args: unknown[]) => void got.push(args), { name: 'one' })
  const listed = cs.tool((a: unknown, b: unknown) => void got.push([a, b]), { name: 'listed' })
  const list = { type: 'object', properties: { args: { type: 'array' } } } as const
  const model = new ScriptedModel([
    [
      { tool: 'one', args: { args: ['-l'], cwd: '/' } },
      { tool: 'listed', args: { args: [1, 2] } },
    ],
    'done',
  ])
  const both = { type: 'object', properties: { args: { type: 'array' }, cwd: { type: 'string' } } } as const
  const tools = [
    { tool: one, parameters: both },
    { tool: listed, parameters: list },
  ]
  await cs.run({ name: 'ask' }, () => agent({ model, tools }).generate({ prompt: 'x' }))
  assert.equal(got, [[{ args: ['-l'], cwd: '/' }], [1, 2]], 'a member beside the list is not dropped')
  const error = thrownBy(() => agent({ model, tools: [{ tool: listed, parameters: both }] }))
  assert.is(codeOf(error), 'tool-without-schema')
  assert.match(String(error), /2 arguments/)
})

test('the loop takes the registry: every tool but those that undo another (RUN-83)', async () => {
  await using cs = await open({ path: ':memory:' })
  const input = z.object({ n: z.number() })
  const add = cs.tool({ name: 'add', input, compensate: 'subtract', execute: ({ n }) => n })
  cs.tool({ name: 'subtract', input: z.object({}), execute: () => null })
  const seen: ToolDescription[][] = []
  await cs.run({ name: 'ask' }, () => agent({ model: told(seen), tools: cs.tools }).generate({ prompt: 'x' }))
  assert.equal(
    seen[0]?.map(({ name }) => name),
    ['add'],
  )
  assert.equal(cs.tools, [add])
})

test('a failure of a tool that says `onFailure: "continue"` is an answer for the model; of another it ends the conversation (RUN-81)', async () => {
  await using cs = await open({ path: ':memory:' })
  const parameters = { type: 'object' } as const
  const execute = (): string => {
    throw new Error('no room left')
  }
  cs.tool({
    name: 'mild',
    parameters,
    onFailure: 'continue',
    retries: 1,
    backoff: { type: 'fixed', delayMs: 0 },
    execute,
  })
  const strict = cs.tool({ name: 'strict', parameters, execute })
  const model = new ScriptedModel([{ tool: 'mild' }, ({ length }) => `after ${length}`])
  const talk = () => agent({ model, tools: cs.tools.filter((tool) => tool !== strict) }).generate({ prompt: 'x' })
  const { messages, text } = await cs.run({ id: 'talk', name: 'talk' }, talk)
  const answer = (messages as readonly Message[]).find(({ role }) => role === 'tool')
  assert.equal([answer?.content, answer && 'isError' in answer && answer.isError], ['no room left', true])
  assert.is(text, 'after 3')
  assert.is((await cs.replay('talk', talk)).verdict, 'exact')
  const hard = new ScriptedModel([{ tool: 'strict' }, 'over'])
  const failed = cs.run({ name: 'hard' }, () => agent({ model: hard, tools: [strict] }).generate({ prompt: 'x' }))
  assert.match(String(await rejection(failed)), /no room left/)
})

test.run()
