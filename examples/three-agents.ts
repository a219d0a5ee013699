// Three agents share a context. The analyst drops what the researcher established: the ledger refuses, says why, and goes back to the
// last accepted handoff; given another try with the findings, the analyst mends it. Each turn and each refusal is recorded.
import { byStructure, type Finding, HandoffRefused, open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const search = cs.tool(async (company: string) => ({ company, revenue: '391 billion', year: 2024 }), { name: 'search' })

// Agents are functions here; a LangChain Runnable, an AI SDK agent or the loop of `agent()` can take their place.
async function researcher() {
  const found = await search('Apple')
  return { entities: [found.company], facts: { revenue: found.revenue, year: found.year } }
}

function analyst(_: object, { attempt, findings }: { attempt: number; findings: readonly Finding[] }) {
  if (attempt === 1) return { facts: { revenue: '400 billion' }, analysis: 'beats every forecast' }
  for (const { rule, path, before, after } of findings)
    console.log(`refused: ${rule} at ${path}: ${before} is no ${after}`)
  return { analysis: 'in line with the forecasts' }
}

function writer({ facts, analysis }: { facts?: unknown; analysis?: unknown }) {
  return `Revenue ${(facts as { revenue: string }).revenue}: ${analysis}.`
}

const report = await cs.run({ name: 'report', id: 'report-1', budget: { tokens: 5_000 } }, async (run) => {
  await run.step('researcher', researcher)
  const { attempts } = await run.step('analyst', analyst, {
    manifest: { task: 'Judge the numbers.', reads: ['facts'], maxTokens: 500 },
    repairs: 2,
  })
  console.log(`the analyst was asked ${attempts} times`)
  const { payload, shown } = await run.step('writer', writer, {
    slice: byStructure(['facts', 'analysis']),
    manifest: { writes: ['text'], maxTokens: 500 },
  })
  console.log(`the writer was shown ${shown.keys.join(', ')}, not ${shown.omitted.join(', ')}`)
  const { context } = await run.context()
  console.log(`keys of the context: ${Object.keys(context).sort().join(', ')}`)

  // An agent beyond its boundary, with no repair left: an error, and the context stays as it was.
  const intruder = run.step('intruder', () => ({ entities: ['Globex'] }), { manifest: { writes: ['notes'] } })
  const refused = await intruder.catch((error) => (error instanceof HandoffRefused ? error : Promise.reject(error)))
  if (refused instanceof HandoffRefused)
    console.log(`${refused.code}: ${refused.findings[0]?.rule}; back at step ${refused.restored.step}`)
  return payload.text
})
console.log(report)
await cs.close()
