/** @module Rule `schema-violation`: a payload against the JSON Schema (2020-12) that is registered for the agent. */
import type { JsonObject } from '../../../schemas/json.ts'
import { addFinding, type Report } from './report.ts'
import { compileSchema } from './schema.ts'

/** A schema that does not compile was refused when it was registered; here it lets nothing pass. */
export function checkSchema(schema: JsonObject, payload: JsonObject, report: Report): void {
  const compiled = compileSchema(schema)
  const faults = compiled.ok ? compiled.validate(payload) : [{ path: '', message: compiled.message }]
  for (const { path, message } of faults) {
    addFinding(report, { rule: 'schema-violation', severity: 'error', path, message })
  }
}
