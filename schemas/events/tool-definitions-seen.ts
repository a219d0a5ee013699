/** @module ToolDefinitionsSeen: the definitions of the tools behind an entrance, if they differ from the previous ones. */
import { z } from 'zod'
import { DefinitionsMembers, Entrance } from '../capture.ts'
import { eventType, ratedBy } from '../event-type.ts'

const schema = z.strictObject({ v: z.literal(1), ...Entrance, ...DefinitionsMembers })

export const ToolDefinitionsSeen = eventType({
  family: 'call',
  label: 'Tool definitions seen',
  activity: 'create',
  rating: ratedBy(schema, 'outcome', {
    shown: { verdict: null, outcome: 'success', severity: 'informational' },
    refused: { verdict: null, outcome: 'failure', severity: 'medium' },
  }),
  facts: [],
  changes: {},
  schema,
})
