// What if? A new run from a past step of another: what came before is served from the record, the rest is live.

import type { Run } from 'countersign/agent'
import { AgentError, open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const research = cs.tool(
  async (topic: string) => {
    console.log(`researching ${topic}`)
    return [`${topic} doubled`]
  },
  { name: 'research' },
)
const write = cs.tool(
  async (style: string, facts: readonly string[]) => {
    console.log(`writing, ${style}`)
    return `${style}: ${facts.join(', ')}`
  },
  { name: 'write' },
)

const report = (topic: string, style: string) => async (run: Run) => {
  const facts = await research(topic)
  await run.handoff({ facts }, { agent: 'researcher' })
  const text = await write(style, facts)
  await run.handoff({ facts, text }, { agent: 'writer' })
  return text
}

const policy = { ungrounded: 'off' } as const
await cs.run({ id: 'report-1', input: 'sales', policy }, report('sales', 'sober'))

// The same code over the record: no tool is called.
const replayed = await cs.replay('report-1', report('sales', 'sober'))
console.log(`replay ${replayed.verdict}: ${replayed.output}`)

// Behind step 1 another way: the research is served, the text is written anew.
console.log(`branch: ${await cs.branch('report-1', { atStep: 1, id: 'report-2' }, report('sales', 'playful'))}`)

// A branch that has not come this way is stopped before it does anything.
try {
  await cs.branch('report-1', { atStep: 1 }, report('costs', 'playful'))
} catch (error) {
  if (!(error instanceof AgentError)) throw error
  console.log(`${error.code}: asked for ${JSON.stringify(error.evidence.actual)}`)
}
await cs.close()
