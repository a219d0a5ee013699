import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import {
  agent,
  InDoubt,
  type Message,
  type Model,
  OutcomeUnknown,
  ScriptedModel,
  ToolError,
} from '../../../src/agent/index.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection, type TestHome } from '../homes.ts'

const test = suite('agent: the tool-calling loop')

/** Texts that tools answered the model with, in order. */
const answers = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

/** Claims of tools on record, in order, without the model's own turns. */
async function claims({ connection }: TestHome, runId: string): Promise<readonly { tool: string; scope: string }[]> {
  const found: { tool: string; scope: string }[] = []
  for await (const { data } of connection.events(runId, 'ToolCallClaimed')) {
    if (!String(data.tool).startsWith('model:')) found.push({ tool: String(data.tool), scope: String(data.scope) })
  }
  return found
}

function adder(cs: Countersign, ran: number[] = []) {
  return cs.tool({
    name: 'add',
    description: 'adds two numbers',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }: { a: number; b: number }) => {
      ran.push(a + b)
      return { sum: a + b }
    },
  })
}

for (const kind of HOMES) {
  const named = (title: string, body: (home: TestHome, cs: Countersign) => Promise<void>) =>
    test(`${kind.name}: ${title}`, async () => {
      await using home = await kind.open()
      await body(home, home.process())
    })

  named('the model gets the real result of each call, and its answer ends the loop', async (_, cs) => {
    const add = adder(cs)
    const seen: string[][] = []
    const model: Model = (messages) => {
      seen.push([...answers(messages)])
      if (seen.length > 2) return { role: 'assistant', content: `it is ${answers(messages).at(-1)}` }
      return { role: 'assistant', toolCalls: [{ id: 'x', name: 'add', arguments: `{"a":${seen.length},"b":2}` }] }
    }
    const result = await cs.run({ id: 'sum', name: 'sum' }, async () => {
      const { text, turns, calls } = await agent({ model, tools: [add] }).generate({ prompt: 'add' })
      return { text, turns, calls }
    })
    assert.equal(seen, [[], ['{"sum":3}'], ['{"sum":3}', '{"sum":4}']])
    assert.equal(result, { text: 'it is {"sum":4}', turns: 3, calls: 2 })
  })

  named(
    'the same call requested again in a later turn runs again; one turn is one group of its own scope',
    async (home, cs) => {
      const ran: number[] = []
      const add = adder(cs, ran)
      const same = { tool: 'add', args: { a: 1, b: 1 } }
      const model = new ScriptedModel([[same, same], same, 'done'])
      await cs.run({ id: 'again', name: 'again' }, () => agent({ model, tools: [add] }).generate({ prompt: 'go' }))
      assert.equal(ran, [2, 2, 2])
      assert.equal(
        (await claims(home, 'again')).map(({ scope }) => scope),
        ['agent:1/turn:1', 'agent:1/turn:1', 'agent:1/turn:2'],
      )
    },
  )

  named(
    'a ToolError, arguments that do not fit, broken JSON and an unknown tool are answers for the model',
    async (home, cs) => {
      let tries = 0
      const add = adder(cs)
      const find = cs.tool({
        name: 'find',
        retries: 5,
        backoff: NO_WAIT,
        execute: (): string => {
          tries += 1
          throw new ToolError('no such customer')
        },
      })
      const calls = [
        { id: '1', name: 'find', arguments: '' },
        { id: '2', name: 'add', arguments: '{"a":1}' },
        { id: '3', name: 'add', arguments: '{"a":1,' },
        { id: '4', name: '__proto__', arguments: '{}' },
        { id: '4', name: 'add', arguments: '{"a":1,"a":2,"b":3}' },
      ]
      const model: Model = (messages) =>
        messages.length === 1 ? { role: 'assistant', toolCalls: calls } : { role: 'assistant', content: 'sorry' }
      const messages = await cs.run(
        { id: 'wrong', name: 'wrong' },
        async () => (await agent({ model, tools: [add, find] }).generate({ prompt: 'go' })).messages,
      )
      const told = answers(messages)
      assert.is(told[0], 'no such customer')
      assert.match(told[1] ?? '', /do not fit its schema: \/b /)
      assert.match(told[2] ?? '', /no JSON/)
      assert.match(told[3] ?? '', /there is no tool "__proto__"; there are: add, find/)
      assert.match(told[4] ?? '', /no JSON that can be recorded/)
      assert.is(tries, 1, 'an answer is not retried')
      assert.equal(
        (await claims(home, 'wrong')).map(({ tool }) => tool),
        ['find'],
      )
    },
  )

  named('any other throw rolls the run back, turns in reverse, and is the cause of what is thrown', async (_, cs) => {
    const undone: string[] = []
    const step = cs.tool({
      name: 'step',
      execute: ({ n }: { n: number }) => n,
      compensate: ({ args }) => undone.push(`step ${args.n}`),
    })
    const thrown = new Error('the printer is on fire')
    const print = cs.tool({
      name: 'print',
      compensate: 'not-needed',
      execute: (_args: object): string => {
        throw thrown
      },
    })
    const steps = (...ns: number[]) => ns.map((n) => ({ tool: 'step', args: { n } }))
    const model = new ScriptedModel([steps(1), steps(2, 3), [...steps(4), { tool: 'print' }], 'never'])
    const failed = await rejection(
      cs.run({ id: 'fire', name: 'fire' }, () => agent({ model, tools: [step, print] }).generate({ prompt: 'go' })),
    )
    assert.is((failed as Error).cause, thrown)
    assert.is(outcomeOf(failed)?.status, 'COMPENSATED')
    assert.is(undone[0], 'step 4')
    assert.equal(undone.slice(1, 3).sort(), ['step 2', 'step 3'])
    assert.is(undone[3], 'step 1')
  })

  named('retryScope "transaction" rolls the conversation back and begins it anew', async (_, cs) => {
    const log: string[] = []
    const hold = cs.tool({
      name: 'hold',
      execute: (_args: object) => log.push('hold'),
      compensate: () => log.push('let go'),
    })
    let failures = 1
    const pay = cs.tool({
      name: 'pay',
      retries: 2,
      retryScope: 'transaction',
      backoff: NO_WAIT,
      compensate: 'not-needed',
      execute: (_args: object) => {
        failures -= 1
        if (failures >= 0) throw new Error('declined')
        return log.push('pay')
      },
    })
    const model = new ScriptedModel([{ tool: 'hold' }, { tool: 'pay' }, 'paid'])
    const text = await cs.run(
      { id: 'anew', name: 'anew' },
      async () => (await agent({ model, tools: [hold, pay] }).generate({ prompt: 'go' })).text,
    )
    assert.is(text, 'paid')
    assert.equal(log, ['hold', 'let go', 'hold', 'pay'])
  })

  named('a call whose outcome is not known is never passed to the model as a result', async (_, cs) => {
    const send = cs.tool({
      name: 'send',
      execute: (_args: object): string => {
        throw new OutcomeUnknown()
      },
    })
    const model = new ScriptedModel([{ tool: 'send' }, 'sent'])
    const failed = await rejection(
      cs.run({ id: 'doubt', name: 'doubt' }, () => agent({ model, tools: [send] }).generate({ prompt: 'go' })),
    )
    assert.instance(failed, InDoubt)
    assert.is(outcomeOf(failed)?.status, 'IN_DOUBT')
  })

  named('turns and calls of a turn are bounded', async (_, cs) => {
    const ran: number[] = []
    const add = adder(cs, ran)
    const one = { tool: 'add', args: { a: 0, b: 1 } }
    const endless: Model = () => ({ role: 'assistant', toolCalls: [{ id: '1', name: 'add', arguments: one.args }] })
    const failed = await rejection(
      cs.run({ id: 'endless', name: 'endless' }, () =>
        agent({ model: endless, tools: [add], maxTurns: 3 }).generate({ prompt: 'go' }),
      ),
    )
    assert.is(codeOf(failed), 'max-turns')
    assert.is(ran.length, 3)
    const many = new ScriptedModel([Array.from({ length: 5 }, () => one), 'ok'])
    const told = await cs.run({ id: 'many', name: 'many' }, async () =>
      answers((await agent({ model: many, tools: [add], maxCallsPerTurn: 2 }).generate({ prompt: 'go' })).messages),
    )
    assert.equal(
      told.map((text) => text.startsWith('at most 2 calls a turn')),
      [false, false, true, true, true],
    )
  })

  named('killed at any command and resumed, every call has run once and the conversation is the same', async (home) => {
    for (let commands = 1; commands < 30; commands += 1) {
      const effects = new Map<string, number>()
      const program = (cs: Countersign) => {
        const mark = cs.tool({
          name: 'mark',
          onUnknown: 'retry',
          execute: ({ n }: { n: number }, { idempotencyKey }) => {
            effects.set(idempotencyKey, n)
            return `mark ${n}`
          },
        })
        const marks = (...ns: number[]) => ns.map((n) => ({ tool: 'mark', args: { n } }))
        const model = new ScriptedModel([marks(1, 1), marks(2), (messages) => `end: ${answers(messages).join(', ')}`])
        return cs.run(
          { id: `killed-${commands}`, name: 'killed' },
          async () => (await agent({ model, tools: [mark] }).generate({ prompt: 'go' })).text,
        )
      }
      const killed = killedAfter(commands, commands % 2 === 0)
      const first = program(home.process(killed.change)).then(() => 'done')
      const ended = await Promise.race([first, killed.dead.then(() => 'dead')])
      home.clock.nowMs += LONG_MS
      assert.is(await program(home.process()), 'end: mark 1, mark 1, mark 2')
      assert.equal([...effects.values()].sort(), [1, 1, 2], `killed after ${commands} commands`)
      if (ended === 'done') return
    }
    assert.unreachable('no life of the run went to its end')
  })

  named('replay goes through the conversation without asking model or tools', async (_, cs) => {
    const ran: number[] = []
    const add = adder(cs, ran)
    let asked = 0
    const script = new ScriptedModel([{ tool: 'add', args: { a: 2, b: 2 } }, 'four'])
    const model: Model = (messages) => {
      asked += 1
      return script.complete(messages)
    }
    const body = async () => (await agent({ model, tools: [add] }).generate({ prompt: 'go' })).text
    await cs.run({ id: 'replayed', name: 'replayed' }, body)
    const replay = await cs.replay('replayed', body)
    assert.equal([replay.verdict, replay.output, asked, ran], ['exact', 'four', 2, [4]])
    const other = async () => (await agent({ model, tools: [add] }).generate({ prompt: 'go on' })).text
    assert.is(codeOf(await rejection(cs.replay('replayed', other))), 'replay-diverged')
  })
}

test('an agent outside of a run, or with a tool of another runtime, is refused before anything runs', async () => {
  const kind = HOMES[0]
  if (kind === undefined) throw new Error('no home')
  await using home = await kind.open()
  const [mine, other] = [home.process(), home.process()]
  const model = new ScriptedModel([{ tool: 'add', args: { a: 1, b: 1 } }, 'done'])
  const theirs = agent({ model, tools: [adder(other)] })
  assert.is(codeOf(await rejection(theirs.generate({ prompt: 'go' }))), 'no-active-run')
  const refused = await rejection(mine.run({ name: 'mixed' }, () => theirs.generate({ prompt: 'go' })))
  assert.is(codeOf(refused), 'unknown-tool')
  assert.throws(() => agent({ model, tools: [() => 1] }), /cs\.tool/)
  const add = adder(mine)
  assert.throws(() => agent({ model, tools: [add, add] }), /two tools are named add/)
})

test('what is no message of a model ends the run with its place', async () => {
  const kind = HOMES[0]
  if (kind === undefined) throw new Error('no home')
  await using home = await kind.open()
  const cs = home.process()
  const model = (() => ({ role: 'assistant', toolCalls: [{ id: 1 }] })) as unknown as Model
  const failed = await rejection(cs.run({ name: 'odd' }, () => agent({ model, tools: [] }).generate({ prompt: 'go' })))
  assert.is(codeOf(failed), 'invalid-model-message')
  assert.match(String(failed), /\/toolCalls\/0\/id/)
})

test.run()
