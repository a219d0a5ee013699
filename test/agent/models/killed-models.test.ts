import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { rounds } from '../../support/rounds.ts'
import { codeOf, HOMES, NO_WAIT, shortLife } from '../homes.ts'

/** A model call: whole or in pieces, of so many tokens, of a provider that is busy at first, or has nothing to say. */
interface Call {
  readonly streamed: boolean
  readonly tokens: number
  readonly fate: 'says' | 'busy' | 'denies'
}

const call: fc.Arbitrary<Call> = fc.record({
  streamed: fc.boolean(),
  tokens: fc.integer({ min: 1, max: 30 }),
  fate: fc.constantFrom('says', 'says', 'busy', 'denies'),
})
/** Groups one after another, the calls of a group side by side. */
const program = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })

/** Each answer is another one, so that an answer that went astray is seen. */
class Provider {
  dialled = 0
  readonly #busy = new Set<string>()

  readonly client = {
    chat: {
      completions: {
        create: async (request: {
          model: string
          stream?: boolean
          user: string
          max_tokens: number
          fate: Call['fate']
        }) => {
          this.dialled += 1
          const { user, fate, max_tokens } = request
          if (fate === 'denies') throw Object.assign(new Error(`denied ${user}`), { status: 403 })
          if (fate === 'busy' && !this.#busy.has(user)) {
            this.#busy.add(user)
            throw Object.assign(new Error('busy'), { status: 429 })
          }
          const text = `${user} answered at ${this.dialled}`
          const usage = { prompt_tokens: 0, completion_tokens: Math.ceil(max_tokens / 2) }
          return request.stream === true ? piecesOf(text, usage) : { text, usage }
        },
      },
    },
  }
}

async function* piecesOf(text: string, usage: object): AsyncGenerator<{ text: string; usage: object | null }> {
  for (const word of text.split(' ')) yield { text: word, usage: null }
  yield { text: '.', usage }
}

interface Given {
  readonly works: readonly (readonly Call[])[]
  readonly provider: Provider
  readonly tokens: number
}

function life(cs: Countersign, id: string, given: Given): Promise<Json> {
  return cs.run({ id, budget: { tokens: given.tokens } }, bodyOf(given))
}

function bodyOf({ works, provider }: Given) {
  const client = trackOpenAI(provider.client, { backoff: NO_WAIT, countTokens: () => 0 })
  const one = async ({ streamed, tokens, fate }: Call, user: string): Promise<string> => {
    try {
      const request = { model: 'm', user, max_tokens: tokens, fate, stream: streamed }
      const answer: unknown = await client.chat.completions.create(request)
      if (!streamed) return (answer as { text: string }).text
      const words: string[] = []
      for await (const piece of answer as AsyncIterable<{ text: string }>) words.push(piece.text)
      return words.join(' ')
    } catch (error) {
      const code = codeOf(error)
      return typeof code === 'string' ? code : (error as Error).message
    }
  }
  return async (run: Run<null>): Promise<Json> => {
    const results: Json[] = []
    for (const [g, group] of works.entries()) {
      results.push(await Promise.all(group.map((each, i) => run.scope(`g${g}c${i}`, () => one(each, `g${g}c${i}`)))))
    }
    return results
  }
}

for (const { name, open } of HOMES) {
  const killed = suite(`killed model calls ${name}`)

  killed('resumed, the run ends within its budget, and a replay tells the same without a dial', async () => {
    await using home = await open()
    let number = 0
    const frame = 64
    await fc.assert(
      fc.asyncProperty(program, fc.nat(20), fc.boolean(), fc.nat(400), async (works, kill, lastArrives, limit) => {
        number += 1
        const id = `models-${number}`
        const provider = new Provider()
        const given = { works, provider, tokens: limit + frame }
        await shortLife(home, { at: kill + 1, lastArrives }, (cs) => life(cs, id, given))
        const output = await life(home.process(), id, given)
        const { tokens, reservedTokens } = await home.connection.budget(id)
        assert.ok(Number(tokens) <= limit + frame, `${tokens} of ${limit + frame}`)
        assert.is(reservedTokens, 0)
        const { dialled } = provider
        const places = works.flatMap((group, g) => group.map((_, i) => `g${g}c${i}`))
        for (const [i, said] of (output as Json[][]).flat().entries()) {
          assert.match(String(said), new RegExp(`^(${places[i]} answered|denied ${places[i]}$|budget-exceeded$)`))
        }
        assert.equal((await home.process().replay(id, bodyOf(given))).output, output)
        assert.is(provider.dialled, dialled)
      }),
      { numRuns: name === 'in process' ? rounds(25, 100, 400) : rounds(5, 30) },
    )
  })

  killed.run()
}
