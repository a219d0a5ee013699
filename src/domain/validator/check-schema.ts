/** @module Rules `schema-violation` and `schema-too-expensive`: a payload against the JSON Schema (2020-12) that is registered for the agent. */
import type { JsonObject } from '../../../schemas/json.ts'
import { type CheckedPayload, compileSchema } from '../json-schema/compile-schema.ts'
import type { SchemaFault } from '../json-schema/evaluation.ts'
import { addFinding, type Report } from './report.ts'

/** A schema that does not compile was refused when it was registered; here it lets nothing pass. */
export function checkSchema(schema: JsonObject, payload: JsonObject, report: Report): void {
  const compiled = compileSchema(schema)
  const checked = compiled.ok ? compiled.check(payload) : notCompiled(compiled.message)
  if (checked.kind === 'checked') addFaults(report, checked.faults, checked.faultsTotal)
  else addFinding(report, { rule: 'schema-too-expensive', severity: 'error', path: '', message: TOO_EXPENSIVE })
}

const TOO_EXPENSIVE =
  "checking the payload against the agent's schema takes more work than one handoff may: hand over less, or register a simpler schema"

function notCompiled(message: string): CheckedPayload {
  return { kind: 'checked', faults: [{ path: '', message }], faultsTotal: 1, steps: 0 }
}

/** Those that are not listed are counted all the same. */
function addFaults(report: Report, faults: readonly SchemaFault[], total: number): void {
  for (const { path, message } of faults) {
    addFinding(report, { rule: 'schema-violation', severity: 'error', path, message })
  }
  report.findingsTotal += total - faults.length
  report.errors += total - faults.length
}
