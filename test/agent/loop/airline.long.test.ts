import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Answer, agent, currentCall, type Message, type Model } from '../../../src/agent/index.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { AIRLINE_RUNS, type ChatMessage, type ChatRun, readAirlineRuns, SKIPPED } from '../../support/airline-runs.ts'
import { HOMES, type TestHome } from '../homes.ts'

const test = suite('agent: real runs through the loop')

/** Calls of a transcript in order, each with the result that it got then. */
function recordedCalls({ messages }: ChatRun): readonly { readonly name: string; readonly result: string }[] {
  const open: { id: string; name: string; result: string }[] = []
  const calls: typeof open = []
  for (const { tool_calls: asked = [], tool_call_id: answered, content } of messages) {
    for (const { id, function: called } of asked) open.push({ id, name: called.name, result: '' })
    const at = answered === undefined ? -1 : open.findLastIndex(({ id }) => id === answered)
    const [call] = at < 0 ? [] : open.splice(at, 1)
    if (call !== undefined) calls.push({ ...call, result: content ?? '' })
  }
  // What a transcript never answered was requested all the same.
  return [...calls, ...open]
}

/** Says at its nth turn what the model of then said. */
function playing({ messages }: ChatRun): Model {
  const said = messages.filter(({ role }) => role === 'assistant')
  return (sofar) => spoken(said[sofar.filter(({ role }) => role === 'assistant').length])
}

function spoken(message: ChatMessage | undefined): ReturnType<Extract<Model, (...args: never) => unknown>> {
  const { content = null, tool_calls: calls = [] } = message ?? {}
  const toolCalls = calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, arguments: args }))
  return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) }
}

interface Driven {
  readonly cs: Countersign
  /** Carries one transcript through the loop, as the run of its id; gives the texts that its tools answered. */
  readonly drive: (run: ChatRun) => Promise<readonly string[]>
  readonly body: (run: ChatRun) => () => Promise<readonly string[]>
  /** Call ids under which a tool ran. */
  readonly ran: string[]
}

/** Tools of every name that the runs use; each answers as its call was answered then. */
function driver(home: TestHome, runs: readonly ChatRun[]): Driven {
  const cs = home.process()
  const ran: string[] = []
  let waiting: { name: string; result: string }[] = []
  const names = [...new Set(runs.flatMap((run) => recordedCalls(run).map(({ name }) => name)))]
  const tools = names.map((name) =>
    cs.tool({
      name,
      execute: (_args: object) => {
        ran.push(currentCall()?.callId ?? '')
        const at = waiting.findIndex((call) => call.name === name)
        return waiting.splice(at, 1)[0]?.result ?? 'no call is left'
      },
    }),
  )
  const body = (run: ChatRun) => async () => {
    const traveller = agent({ model: playing(run), tools, maxTurns: 100 })
    let conversation: readonly Message[] = []
    for (const segment of segments(run)) {
      const answer: Answer = await traveller.generate({ messages: [...conversation, ...segment] })
      conversation = answer.messages
    }
    return conversation.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  }
  const drive = async (run: ChatRun) => {
    waiting = recordedCalls(run).map((call) => ({ ...call }))
    const answers = await cs.run({ id: run.id, name: run.model }, body(run))
    assert.equal(waiting, [], run.id)
    return answers
  }
  return { cs, drive, body, ran }
}

/** What the user said between two answers of the agent. */
function segments({ messages }: ChatRun): readonly (readonly Message[])[] {
  const found: { role: 'user'; content: string }[][] = []
  let open = false
  for (const { role, content, tool_calls: calls = [] } of messages) {
    if (role === 'user') {
      if (!open) found.push([])
      open = true
      found.at(-1)?.push({ role, content: content ?? '' })
    } else if (role === 'assistant' && calls.length === 0) open = false
  }
  return found
}

for (const kind of HOMES) {
  test(`${kind.name}: 100 real runs, 577 calls: each is claimed and run once, answered with its own result, and replayed exactly`, async () => {
    if (AIRLINE_RUNS === undefined) return void process.stdout.write(SKIPPED)
    await using home = await kind.open()
    const runs = readAirlineRuns(AIRLINE_RUNS)
    const { cs, drive, body, ran } = driver(home, runs)
    for (const run of runs) {
      assert.equal(
        await drive(run),
        recordedCalls(run).map(({ result }) => result),
        run.id,
      )
    }
    assert.is(ran.length, 577)
    assert.is(new Set(ran).size, 577)
    for (const run of runs) {
      const replay = await cs.replay(run.id, body(run))
      assert.equal([replay.verdict, replay.output], ['exact', recordedCalls(run).map(({ result }) => result)])
    }
    assert.is(ran.length, 577, 'a replay calls no tool')
  })
}

test.run()
