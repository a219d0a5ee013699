import { readFileSync } from 'node:fs'
import { AIMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { Output, ToolLoopAgent } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { AgentError } from '../../../src/agent/errors.ts'
import { agent } from '../../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../../src/agent/loop/scripted-model.ts'
import { defaultPrompt } from '../../../src/agent/pipeline/default-prompt.ts'
import type { Finding } from '../../../src/agent/pipeline/handoff-types.ts'
import type { StepContext } from '../../../src/agent/pipeline/step-types.ts'
import { HOMES, rejection } from '../homes.ts'

interface Labelled {
  readonly name: string
  readonly label: 'accept' | 'reject'
  readonly before: JsonObject
  readonly after: JsonObject
  readonly supersedes?: unknown
  readonly evidence?: unknown
}

const DEV: readonly Labelled[] = readFileSync('test/vectors/validator/judgement.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))

const order = { order: { id: 'A-1', qty: 6, city: 'Bern' } }
const changed = { order: { id: 'A-1', qty: 5, city: 'Bern' } }
const REASON = 'the customer cancelled one, mail of 3 May'

/** Does what the findings say: a reason for each change that takes one, else what was established again. */
function repaired(payload: JsonObject, findings: readonly Finding[]): JsonObject {
  const copy = structuredClone(payload) as Record<string, Json>
  const supersedes: Json[] = []
  for (const { severity, path, before, supersede } of findings) {
    if (severity !== 'error') continue
    if (supersede !== undefined) supersedes.push({ path: supersede.path, reason: REASON })
    else put(copy, path.slice(1).split('/'), before)
  }
  return { ...copy, $supersedes: supersedes }
}

function put(target: Record<string, Json>, [token = '', ...rest]: readonly string[], value: Json | undefined): void {
  if (rest.length > 0) put(target[token] as Record<string, Json>, rest, value)
  else if (value === undefined) delete target[token]
  else target[token] = value
}

/** What a model that reads its prompt would answer: the entry that the prompt asks for, for each path that it names. */
function answerTo(prompt: string): JsonObject {
  if (!prompt.includes('refused')) return changed
  const paths = [...prompt.matchAll(/^- contradicted at (\S+):.*established: 6; you gave: 5/gm)].map(([, path]) => path)
  assert.match(prompt, /"\$supersedes": \[\{"path"/)
  return { ...changed, $supersedes: paths.map((path) => ({ path, reason: REASON })) as unknown as Json }
}

for (const { name, open } of HOMES) {
  const repair = suite(`repair ${name}`)

  const passesAtTheSecondTry = async (step: Parameters<typeof stepOf>[1]): Promise<void> => {
    await using home = await open()
    const { attempts, envelope, context } = await stepOf(home, step)
    assert.is(attempts, 2)
    assert.equal(
      envelope.findings.map(({ rule, path }) => [rule, path]),
      [['superseded', '/order/qty']],
    )
    assert.equal(context, changed)
    const events = []
    for await (const { data } of home.connection.events('r', 'EnvelopeAccepted')) events.push(data)
    assert.equal(events.at(-1)?.supersedes, [{ path: '/order/qty', reason: REASON }])
    assert.is(JSON.stringify(events.at(-1)?.payload).includes('$supersedes'), false)
  }

  repair('a function that does what the findings say passes at the second try (JUD-31)', () =>
    passesAtTheSecondTry((run) =>
      run.step('sales', (_: JsonObject, { findings }: StepContext) => repaired(changed, findings), {
        mode: 'replace',
        repairs: 1,
      }),
    ),
  )

  repair('a LangChain Runnable does, from the findings beside its slice', () => {
    const chain = RunnableLambda.from((input: JsonObject) => repaired(changed, (input.findings ?? []) as never))
    return passesAtTheSecondTry((run) => run.step('sales', chain, { mode: 'replace', repairs: 1 }))
  })

  repair('a LangChain chat model does, from the default prompt', () => {
    const model = RunnableLambda.from((prompt: string) => new AIMessage(JSON.stringify(answerTo(prompt))))
    return passesAtTheSecondTry((run) =>
      run.step('sales', model, {
        mode: 'replace',
        repairs: 1,
        input: defaultPrompt,
        output: (message) => JSON.parse((message as AIMessage).text),
      }),
    )
  })

  repair('an AI SDK agent does, whose output may say what it supersedes', () => {
    const model = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        const last = prompt.at(-1)?.content.at(-1) as { readonly text: string }
        return {
          content: [{ type: 'text', text: JSON.stringify(answerTo(last.text)) }],
          finishReason: { unified: 'stop', raw: undefined },
          usage: {
            inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: 1, text: 1, reasoning: undefined },
          },
          warnings: [],
        }
      },
    })
    const schema = z.object({
      order: z.object({ id: z.string(), qty: z.number(), city: z.string() }),
      $supersedes: z.array(z.object({ path: z.string(), reason: z.string() })).optional(),
    })
    const sales = new ToolLoopAgent({ model, output: Output.object({ schema }) })
    return passesAtTheSecondTry((run) => run.step('sales', sales, { mode: 'replace', repairs: 1 }))
  })

  repair('the tool-calling loop does, from its prompt', () => {
    const says = new ScriptedModel([(messages) => JSON.stringify(answerTo(messages.at(-1)?.content ?? ''))])
    const sales = agent({ model: says, tools: [], name: 'sales' })
    return passesAtTheSecondTry((run) =>
      run.step('sales', sales, {
        mode: 'replace',
        repairs: 1,
        output: (answer) => JSON.parse((answer as { readonly text: string }).text),
      }),
    )
  })

  repair('$supersedes of another shape is the mistake of the agent, and nothing is handed over', async () => {
    await using home = await open()
    const failed = (await rejection(
      stepOf(home, (run) => run.step('sales', () => ({ ...changed, $supersedes: '/order/qty' }), { mode: 'replace' })),
    )) as AgentError
    assert.is(failed.code, 'invalid-output')
    assert.match(failed.message, /\$supersedes of sales is a list/)
  })

  repair.run()
}

async function stepOf(
  home: Awaited<ReturnType<(typeof HOMES)[number]['open']>>,
  step: (
    run: import('../../../src/agent/runtime/run.ts').Run,
  ) => Promise<import('../../../src/agent/pipeline/step-types.ts').StepResult>,
) {
  return home.process().run({ id: 'r', policy: { suspect: 'refuse' } }, async (run) => {
    await run.handoff(order, { agent: 'desk' })
    const { attempts, envelope } = await step(run as never)
    return { attempts, envelope, context: (await run.context()).context }
  })
}

const all = suite('repair of recorded refusals')

all(
  'of every labelled contradiction, taken for a true change, a scripted agent passes at the second try (JUD-31)',
  async () => {
    await using home = await (HOMES[0] as (typeof HOMES)[number]).open()
    const cs = home.process()
    const refused = DEV.filter(({ label, supersedes, evidence }) => label === 'reject' && !supersedes && !evidence)
    const stuck: string[] = []
    for (const [i, { name, before, after }] of refused.entries()) {
      const result = await cs.run({ id: `r${i}`, policy: { suspect: 'refuse' } }, async (run) => {
        await run.handoff(before, { agent: 'desk' })
        const says = (_: JsonObject, { findings }: StepContext) => repaired(after, findings)
        return run.step('next', says, { mode: 'replace', repairs: 1 }).catch((error: Error) => error.message)
      })
      if (typeof result === 'string') stuck.push(`${name}: ${result}`)
    }
    assert.ok(refused.length > 100)
    assert.equal(stuck, [])
  },
)

all.run()
