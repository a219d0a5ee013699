/** @module An agent changes what was established, is refused, and says why: the prompt of its second try shows how. */
import { agent, defaultPrompt, open, ScriptedModel } from 'countersign/agent'

await using cs = await open({ path: 'repair.db' })

/** A model that reads its prompt: at the second try it sees what was refused, both values, and where the reason goes. */
const model = new ScriptedModel([
  (messages) => {
    const prompt = messages.at(-1)?.content ?? ''
    const refused = /- contradicted at (\S+):.*/.exec(prompt)
    if (refused === null) return JSON.stringify({ order: { qty: 5 } })
    console.log(refused[0])
    const reason = 'the customer cancelled one, mail of 3 May'
    return JSON.stringify({ order: { qty: 5 }, $supersedes: [{ path: refused[1] ?? '', reason }] })
  },
])
const sales = agent({ model, tools: [], name: 'sales' })

const { envelope, attempts } = await cs.run({ id: 'order-1', policy: { suspect: 'refuse' } }, async (run) => {
  await run.handoff({ order: { id: 'A-1', qty: 6 } }, { agent: 'desk' })
  return run.step('sales', sales, {
    task: 'Bring the order up to date.',
    repairs: 1,
    input: defaultPrompt,
    output: (answer) => JSON.parse((answer as { text: string }).text),
  })
})

const [finding] = envelope.findings
console.log(`accepted at try ${attempts}: ${finding?.rule} ${finding?.path} ${finding?.before} -> ${finding?.after}`)
