import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { rounds } from '../support/rounds.ts'
import { HOMES, shortLife } from './homes.ts'

/** A tree of work: calls one after another, and branches side by side. Many calls are equal but for their place. */
type Work =
  | { readonly kind: 'call'; readonly tool: 'a' | 'b'; readonly arg: number }
  | { readonly kind: 'branches'; readonly branches: readonly (readonly Work[])[] }

const { program } = fc.letrec<{ work: Work; program: readonly Work[] }>((tie) => ({
  work: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('call' as const),
        tool: fc.constantFrom('a' as const, 'b' as const),
        arg: fc.integer({ min: 1, max: 2 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('branches' as const),
        branches: fc.array(tie('program'), { minLength: 2, maxLength: 3 }),
      }),
    },
  ),
  program: fc.array(tie('work'), { minLength: 1, maxLength: 3 }),
}))

/** The outer world: a provider that knows its keys, so that a call which died on the way may be sent again. */
class Provider {
  readonly results = new Map<string, string>()

  ask(key: string): string {
    const known = this.results.get(key) ?? `result ${this.results.size + 1}`
    this.results.set(key, known)
    return known
  }
}

/** `hurry` decides how long each branch dawdles: another life has another order. */
function life(
  cs: Countersign,
  id: string,
  given: { program: readonly Work[]; provider: Provider; hurry: number },
): Promise<Json> {
  const { program, provider, hurry } = given
  const tool = (name: string) => {
    const execute = async (_: number) => {
      await dawdle((hurry * provider.results.size) % 5)
      return provider.ask(currentCall()?.idempotencyKey ?? '')
    }
    return cs.tool(execute, { name, dedupe: 'position', onUnknown: 'retry' })
  }
  const tools = { a: tool('a'), b: tool('b') }
  const all = async (run: Run<null>, works: readonly Work[]): Promise<Json> => {
    const results: Json[] = []
    for (const [i, work] of works.entries()) {
      if (work.kind === 'call') results.push(await tools[work.tool](work.arg))
      else
        results.push(
          await Promise.all(
            work.branches.map((branch, b) =>
              run.scope(`w${i}b${b}`, async (inner) => {
                await dawdle((hurry * (b + 1)) % 7)
                return all(inner, branch)
              }),
            ),
          ),
        )
    }
    return results
  }
  return cs.run({ id }, (run) => all(run, program))
}

async function dawdle(turns: number): Promise<void> {
  for (let i = 0; i < turns; i += 1) await Promise.resolve()
}

/** What the output must be: at each place, the result that the provider gave to the call recorded for that place. */
function expectedOf(program: readonly Work[], calls: readonly JsonObject[], provider: Provider): Json {
  const at = (works: readonly Work[], scope: string | undefined): Json[] => {
    const counts = new Map<string, number>()
    return works.map((work, i): Json => {
      if (work.kind === 'branches') {
        return work.branches.map((branch, b) => at(branch, `${scope === undefined ? '' : `${scope}/`}w${i}b${b}`))
      }
      const occurrence = counts.get(`${work.tool}${work.arg}`) ?? 0
      counts.set(`${work.tool}${work.arg}`, occurrence + 1)
      const found = calls.filter((call) => {
        const [arg] = call.args as readonly Json[]
        return call.scope === scope && call.tool === work.tool && arg === work.arg && call.occurrence === occurrence
      })
      assert.is(found.length, 1, 'one call on record for each place')
      return provider.results.get(String(found[0]?.callId)) ?? 'never ran'
    })
  }
  return at(program, undefined)
}

const RUNS: Readonly<Record<string, number>> = { 'in process': rounds(20, 100, 600), 'over HTTP': rounds(2, 20, 40) }

for (const { name, open } of HOMES) {
  const random = suite(`random programs ${name}`)

  random('killed at any point and resumed, each call gets its own result and runs once (RUN-4)', async () => {
    await using home = await open()
    let number = 0
    await fc.assert(
      fc.asyncProperty(
        program,
        fc.nat(30),
        fc.boolean(),
        fc.nat(99),
        fc.nat(99),
        async (works, kill, lastArrives, one, two) => {
          number += 1
          const id = `program-${number}`
          const provider = new Provider()
          await shortLife(home, { at: kill + 1, lastArrives }, (cs) =>
            life(cs, id, { program: works, provider, hurry: one }),
          )
          const output = await life(home.process(), id, { program: works, provider, hurry: two })
          const calls = await home.connection.calls(id)
          assert.equal(output, expectedOf(works, calls, provider))
          assert.is(provider.results.size, calls.length, 'one effect for each call on record')
        },
      ),
      { numRuns: RUNS[name] ?? 1 },
    )
  })

  random.run()
}
