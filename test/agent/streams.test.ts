import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AgentPart, agent } from '../../src/agent/loop/agent.ts'
import type { ModelPart } from '../../src/agent/loop/messages.ts'
import { ToolError } from '../../src/agent/loop/tool-error.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, NO_WAIT, rejection, type TestHome } from './homes.ts'

const read = async <T>(parts: AsyncIterable<T>, most = Number.POSITIVE_INFINITY): Promise<T[]> => {
  const all: T[] = []
  for await (const part of parts) {
    all.push(part)
    if (all.length >= most) break
  }
  return all
}

/** What was read, and the error that it ended with. */
const readBroken = async <T>(parts: AsyncIterable<T>): Promise<readonly [T[], string]> => {
  const all: T[] = []
  try {
    for await (const part of parts) all.push(part)
  } catch (error) {
    return [all, error instanceof Error ? error.message : String(error)]
  }
  return [all, 'none']
}

const outcomes = async ({ connection }: TestHome, runId: string): Promise<unknown[]> => {
  const all: unknown[] = []
  for await (const { type, data } of connection.events(runId))
    if (type === 'ToolCallSucceeded' || type === 'ToolCallFailed') all.push(data.result ?? data.error ?? null)
  return all
}

class NoLine extends Error {}

/** A gate that a test opens. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

for (const { name, open } of HOMES) {
  const test = suite(`results in parts ${name}`)

  test('a part reaches the caller before the next one is there, and the record has them all as a list (RUN-74)', async () => {
    await using home = await open()
    const cs = home.process()
    const second = gate()
    const lines = cs.tool(
      async function* (from: number) {
        yield { line: from }
        await second.opened
        yield { line: from + 1 }
      },
      { name: 'lines', stream: true, compensate: 'not-needed' },
    )
    const body = async () => {
      const seen: number[] = []
      for await (const { line } of await lines(1)) {
        seen.push(line)
        second.open()
      }
      return seen
    }
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), [1, 2])
    assert.equal(await outcomes(home, 'r'), [[{ line: 1 }, { line: 2 }]])
    assert.is((await cs.replay('r', body)).verdict, 'exact')
  })

  test('a web stream is one, too, and equal calls read the same parts, each from the first (RUN-74)', async () => {
    await using home = await open()
    const cs = home.process()
    let begun = 0
    const words = cs.tool(
      () => {
        begun += 1
        return new ReadableStream<string>({
          start: (to) => {
            for (const word of ['a', 'b', 'c']) to.enqueue(word)
            to.close()
          },
        }) as AsyncIterable<string>
      },
      { name: 'words', stream: true, compensate: 'not-needed' },
    )
    const got = await cs.run({ id: 'r', name: 'r' }, async () => {
      const both = await Promise.all([words(), words()].map(async (parts) => read(await parts)))
      return [...both, await read(await words())]
    })
    assert.equal(got, [
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
    assert.is(begun, 1)
  })

  test('a source that throws amid fails the call with what came before, is not tried again, and does so on replay (RUN-75)', async () => {
    await using home = await open()
    const cs = home.process()
    let begun = 0
    const lines = cs.tool(
      async function* () {
        begun += 1
        yield 'one'
        throw new Error('the line broke')
      },
      { name: 'lines', stream: true, compensate: 'not-needed', retries: 3, backoff: NO_WAIT },
    )
    const body = async () => readBroken(await lines())
    const expected = [['one'], 'the line broke'] as const
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), expected)
    assert.is(begun, 1)
    const [failure] = (await outcomes(home, 'r')) as { details: object }[]
    assert.equal(failure?.details, { name: 'Error', parts: 1, received: ['one'] })
    assert.equal((await cs.replay('r', body)).output, expected)
  })

  test('a source that throws an error of a class of the author’s, or for a model, gives on replay what came before it, too (RUN-75, RUN-194)', async () => {
    await using home = await open()
    const cs = home.process()
    const lines = cs.tool(
      async function* (which: number) {
        yield 'one'
        throw which === 1 ? new NoLine('no more') : new ToolError('the model may go on')
      },
      { name: 'lines', stream: true, compensate: 'not-needed', errors: [NoLine] },
    )
    const body = async () => [await readBroken(await lines(1)), await readBroken(await lines(2))]
    const expected = [
      [['one'], 'no more'],
      [['one'], 'the model may go on'],
    ]
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), expected)
    assert.equal((await cs.replay('r', body)).output, expected)
  })

  test('before the first part a failure is one like another: it is tried again (RUN-75)', async () => {
    await using home = await open()
    const cs = home.process()
    let begun = 0
    const lines = cs.tool(
      async function* () {
        begun += 1
        if (begun < 3) throw new Error('busy')
        yield begun
      },
      { name: 'lines', stream: true, compensate: 'not-needed', retries: 3, backoff: NO_WAIT },
    )
    const body = async () => read(await lines())
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), [3])
    assert.equal((await cs.replay('r', body)).output, [3])
  })

  test('left early, the source is stopped, what came until then is the result, and nothing is left behind (RUN-75, F142)', async () => {
    await using home = await open()
    const cs = home.process()
    const closed = gate()
    const endless = cs.tool(
      async function* () {
        try {
          for (let n = 1; ; n += 1) {
            yield n
            await new Promise((resolve) => setImmediate(resolve))
          }
        } finally {
          closed.open()
        }
      },
      { name: 'endless', stream: true, compensate: 'not-needed' },
    )
    const body = async () => read(await endless(), 2)
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), [1, 2])
    await within(closed.opened)
    const [parts] = (await outcomes(home, 'r')) as [number[]]
    assert.equal(parts.slice(0, 2), [1, 2])
    assert.equal((await cs.replay('r', body)).output, [1, 2])
  })

  test('a result that nobody reads is recorded whole before the run ends; a failure that nobody read is the run’s (RUN-75)', async () => {
    await using home = await open()
    const cs = home.process()
    const lines = cs.tool(
      async function* (fails: boolean) {
        for (const line of ['a', 'b', 'c']) yield line
        if (fails) throw new RangeError('over')
      },
      { name: 'lines', stream: true, compensate: 'not-needed' },
    )
    await cs.run({ id: 'unread', name: 'r' }, async () => void (await lines(false)))
    assert.equal(await outcomes(home, 'unread'), [['a', 'b', 'c']])
    const failed = await rejection(cs.run({ id: 'broken', name: 'r' }, async () => void (await lines(true))))
    assert.is((failed as Error).name, 'RangeError')
  })

  test('a resume after the call reads what was recorded, and a compensation gets the list (RUN-74)', async () => {
    await using home = await open()
    let begun = 0
    const undone: unknown[] = []
    const toolOf = (cs: Countersign) =>
      cs.tool(
        async function* () {
          begun += 1
          yield 'a'
          yield 'b'
        },
        { name: 'lines', stream: true, compensate: ({ result }) => void undone.push(result) },
      )
    const first = home.process()
    const waits = toolOf(first)
    await rejection(
      first.run({ id: 'r', name: 'r', whenWaiting: 'leave' }, async (run) => {
        await read(await waits())
        await run.waitFor('go')
      }),
    )
    const second = home.process()
    const again = toolOf(second)
    await second.signal('r', 'go')
    await rejection(
      second.run({ id: 'r', name: 'r' }, async (run) => {
        assert.equal(await read(await again()), ['a', 'b'])
        await run.waitFor('go')
        throw new Error('undo it')
      }),
    )
    assert.is(begun, 1)
    assert.equal(undone, [['a', 'b']])
  })

  test('a tool that says stream and gives none, and a part that cannot be recorded, are errors that say so (RUN-74)', async () => {
    await using home = await open()
    const cs = home.process()
    const none = cs.tool(async () => 'text', { name: 'none', stream: true, compensate: 'not-needed' })
    const odd = cs.tool(
      async function* () {
        yield 10n
      },
      { name: 'odd', stream: true, compensate: 'not-needed' },
    )
    assert.is(codeOf(await rejection(cs.run({ name: 'r' }, async () => void (await none())))), 'invalid-stream')
    const said = await cs.run({ name: 'r' }, async () => codeOf(await rejection(odd())) as string)
    assert.is(said, 'not-recordable')
  })

  const conversing = (
    home: TestHome,
    turns: (turn: number) => AsyncIterable<ModelPart> | { role: 'assistant'; content: string },
  ) => {
    const cs = home.process()
    const requests: boolean[] = []
    const weather = cs.tool({
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
      execute: async ({ city }: { city: string }) => `${city}: rain`,
      compensate: 'not-needed',
    })
    const guide = agent({
      name: 'guide',
      tools: [weather],
      model: {
        name: 'm',
        complete: (messages, _, { stream }) => {
          requests.push(stream)
          return turns(messages.filter(({ role }) => role === 'assistant').length)
        },
      },
    })
    return { cs, guide, requests }
  }
  const script = async function* (turn: number): AsyncGenerator<ModelPart> {
    yield { text: turn === 0 ? 'let me ' : 'take an ' }
    yield { text: turn === 0 ? 'look' : 'umbrella' }
    if (turn === 0) yield { toolCall: { id: '1', name: 'weather', arguments: { city: 'Oslo' } } }
    yield { usage: { inputTokens: 5, outputTokens: 2 } }
  }
  const flat = (part: AgentPart): string => {
    if (part.type === 'text') return part.text
    if (part.type === 'call') return `-> ${part.request.name}`
    return part.type === 'result' ? `<- ${part.message.content}` : part.type === 'answer' ? `= ${part.text}` : part.type
  }
  const WHOLE = ['let me ', 'look', '-> weather', '<- Oslo: rain', 'take an ', 'umbrella', '= take an umbrella']

  test('an agent streams what its model says, its calls, their results and the answer; a replay gives the same parts (RUN-76)', async () => {
    await using home = await open()
    const { cs, guide, requests } = conversing(home, script)
    const body = async () => (await read(guide.stream({ prompt: 'weather?' }))).map(flat)
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), WHOLE)
    assert.equal(requests, [true, true])
    assert.equal((await cs.replay('r', body)).output, WHOLE)
    assert.is(requests.length, 2)
    const [turn] = (await outcomes(home, 'r')) as { content: string; usage: object; parts: number[] }[]
    assert.equal([turn?.content, turn?.parts], ['let me look', [7, 4]])
  })

  test('a conversation that was streamed is the same when it is not, and the other way round (RUN-76)', async () => {
    await using home = await open()
    const { cs, guide, requests } = conversing(home, script)
    const streamed = async () => (await read(guide.stream({ prompt: 'weather?' }))).map(flat).at(-1) ?? ''
    const whole = async () => `= ${(await guide.generate({ prompt: 'weather?' })).text}`
    await cs.run({ id: 'r', name: 'r' }, streamed)
    assert.is((await cs.replay('r', whole)).verdict, 'exact')
    await cs.run({ id: 'w', name: 'r' }, whole)
    assert.is((await cs.replay('w', streamed)).verdict, 'exact')
    assert.equal(requests, [true, true, false, false])
  })

  test('an agent that is left early stops its model, makes no further call, and the run ends and replays as it was (RUN-76)', async () => {
    await using home = await open()
    let closed = 0
    const { cs, guide, requests } = conversing(home, async function* (turn) {
      try {
        yield* script(turn)
      } finally {
        closed += 1
      }
    })
    const body = async () => (await read(guide.stream({ prompt: 'weather?' }), 1)).map(flat)
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), ['let me '])
    assert.equal([closed, requests.length, (await outcomes(home, 'r')).length], [1, 1, 1])
    assert.equal((await cs.replay('r', body)).output, ['let me '])
    // Nobody reads: nothing is asked.
    await cs.run({ id: 'unread', name: 'r' }, async () => void guide.stream({ prompt: 'weather?' }))
    assert.is(requests.length, 1)
  })

  test('a model that breaks amid fails the conversation behind the texts that came, live and on replay (RUN-76)', async () => {
    await using home = await open()
    const { cs, guide } = conversing(home, async function* () {
      yield { text: 'half an ' }
      throw new Error('gone')
    })
    const body = async () => {
      const [parts, error] = await readBroken(guide.stream({ prompt: 'weather?' }))
      return [...parts.map(flat), error]
    }
    assert.equal(await cs.run({ id: 'r', name: 'r' }, body), ['half an ', 'gone'])
    assert.equal((await cs.replay('r', body)).output, ['half an ', 'gone'])
  })

  test.run()
}
