// Billing under a hard budget: the third model call might overshoot it, so it is refused before it is made, and what was sent is undone.
import { LedgerRefused, open, outcomeOf, trackOpenAI } from 'countersign/agent'

/** Replaces `new OpenAI()` here: any client of that shape is tracked the same way. */
const provider = {
  chat: {
    completions: {
      create: async ({
        messages,
      }: {
        model: string
        max_tokens: number
        messages: { role: string; content: string }[]
      }) => {
        console.log(`the model is asked: ${messages[0]?.content}`)
        const usage = { prompt_tokens: 40, completion_tokens: 1_800, total_tokens: 1_840 }
        return { choices: [{ message: { role: 'assistant', content: 'Thank you for your order.' } }], usage }
      },
    },
  },
}

const cs = await open({
  path: ':memory:',
  // Per million tokens, as decimal strings: yours to say, none is built in.
  prices: { currency: 'USD', models: { 'small-1': { input: '0.50', output: '1.50' } } },
})
const client = trackOpenAI(provider)
const send = cs.tool(async (customer: string, text: string) => ({ invoice: `invoice for ${customer}`, text }), {
  name: 'send',
  compensate: ({ result }) => console.log(`void the ${result.invoice}`),
})

try {
  await cs.run({ id: 'november', name: 'billing', budget: { cost: '0.008 USD' } }, async () => {
    for (const customer of ['Ada', 'Bob', 'Cyd']) {
      const messages = [{ role: 'user', content: `write to ${customer}` }]
      const answer = await client.chat.completions.create({ model: 'small-1', max_tokens: 2_000, messages })
      await send(customer, answer.choices[0]?.message.content ?? '')
    }
  })
} catch (error) {
  if (!(error instanceof LedgerRefused)) throw error
  const { requested, limit, spent } = error.evidence
  console.log(`${error.code}: up to ${requested} more, of ${limit} USD ${spent} are spent`)
  console.log(outcomeOf(error)?.status)
}
await cs.close()
