// An agent whose manifest lets it write `analysis` returns its own section only. It is accepted, and what was established stays.
import { open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const manifest = {
  task: 'Analyze entities and summarize findings',
  reads: ['entities', 'summary'],
  writes: ['analysis'],
  maxTokens: 4000,
}

const context = await cs.run({ name: 'analysis', budget: { tokens: 8000 } }, async (run) => {
  await run.handoff({ entities: ['Apple'], summary: 'revenue up' }, { agent: 'researcher' })
  await run.step('agent-1', () => ({ analysis: 'growth at 5%' }), { manifest })
  return (await run.context()).context
})
console.log(JSON.stringify(context))
await cs.close()
