// A tool-calling loop: the model sees the real result of each call, and an error that it can mend. Runs on a script, without a key;
// `--real` asks a real model instead (OPENAI_API_KEY or ANTHROPIC_API_KEY, and the package of the provider).

import { agent, anthropicModel, type Model, open, openAiModel, ScriptedModel, ToolError } from 'countersign/agent'
import { z } from 'zod'

const cs = await open({ path: ':memory:' })
const seats = new Map([['HAT069', 1]])

const find = cs.tool({
  name: 'find_flights',
  description: 'Lists the flights to a city.',
  input: z.object({ to: z.string() }),
  execute: ({ to }: { to: string }) => (to === 'Seattle' ? ['HAT070', 'HAT069'] : []),
})
const book = cs.tool({
  name: 'book_flight',
  description: 'Books a seat on a flight.',
  input: z.object({ flight: z.string() }),
  execute: ({ flight }: { flight: string }) => {
    const left = seats.get(flight) ?? 0
    if (left === 0) throw new ToolError(`${flight} is full: take another flight`)
    seats.set(flight, left - 1)
    return { booking: `b-${flight}` }
  },
  compensate: ({ args }) => seats.set(args.flight, (seats.get(args.flight) ?? 0) + 1),
})

const script = new ScriptedModel([
  { tool: 'find_flights', args: { to: 'Seattle' } },
  { tool: 'book_flight', args: { flight: 'HAT070' } },
  { tool: 'book_flight', args: { flight: 'HAT069' } },
  (messages) => `Done: ${messages.at(-1)?.content}`,
])

async function realModel(): Promise<Model> {
  if (process.env.ANTHROPIC_API_KEY !== undefined) {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    return anthropicModel(new Anthropic(), { model: process.env.MODEL ?? 'claude-sonnet-4-5', maxTokens: 1_000 })
  }
  const { default: OpenAI } = await import('openai')
  return openAiModel(new OpenAI(), { model: process.env.MODEL ?? 'gpt-4o-mini' })
}

const model = process.argv.includes('--real') ? await realModel() : script
const travel = agent({ name: 'travel', model, tools: [find, book], system: 'You book flights. Be brief.' })
await cs.run({ id: 'trip-1', name: 'trip' }, async () => {
  const { text, messages } = await travel.generate({ prompt: 'A seat to Seattle, please.' })
  for (const message of messages) {
    if (message.role === 'tool') console.log(`${message.name}: ${message.content}`)
  }
  console.log(text)
})
await cs.close()
