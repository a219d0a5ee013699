/** @module Effects of tools, as declared by the owner of a session. A tool's claims about itself are not trusted. */
import { isJsonObject, type Json, parseJsonOrUndefined } from '../../schemas/json.ts'
import { isCurrency, isMoney } from '../../schemas/value-forms.ts'

const EFFECTS = ['none', 'idempotent', 'once'] as const

/** A call with `none` or `idempotent` may be repeated if its outcome is unknown; with `once` it waits until the doubt is resolved. */
export type Effect = (typeof EFFECTS)[number]

export interface ToolRule {
  readonly effect: Effect
  /** Price of a call: reserved on the run's budget before it is forwarded, and charged once it was answered. */
  readonly price?: { readonly cost: string; readonly currency: string }
}

export type Effects = Readonly<Record<string, ToolRule>>

export function ruleOf(effects: Effects, tool: string): ToolRule {
  return (Object.hasOwn(effects, tool) ? effects[tool] : undefined) ?? { effect: 'once' }
}

type Parsed = { readonly ok: true; readonly effects: Effects } | { readonly ok: false; readonly message: string }

/** Parses `{"tools": {"read_file": "none", "send_sms": {"effect": "once", "cost": "0.05 USD"}}}`; returns an error message for any other text. */
export function parseEffects(text: string): Parsed {
  const value = parseJsonOrUndefined(text)
  const tools = isJsonObject(value) ? value.tools : undefined
  if (!isJsonObject(tools)) return { ok: false, message: `it takes {"tools": {"NAME": ${FORM}}}` }
  const rules = Object.entries(tools).map(([name, rule]) => [name, toolRule(rule)] as const)
  const wrong = rules.find(([, rule]) => rule === undefined)
  if (wrong !== undefined) return { ok: false, message: `the tool ${wrong[0]} takes ${FORM}` }
  return {
    ok: true,
    effects: Object.fromEntries(rules.flatMap(([name, rule]) => (rule === undefined ? [] : [[name, rule]]))),
  }
}

const FORM = '"none", "idempotent", "once", or {"effect": one of them, "cost": "0.05 USD"}'

function toolRule(rule: Json): ToolRule | undefined {
  const { effect, cost, ...more } = isJsonObject(rule) ? rule : { effect: rule }
  const known = EFFECTS.find((each) => each === effect)
  if (known === undefined || Object.keys(more).length > 0) return undefined
  if (cost === undefined) return { effect: known }
  const [amount, currency, ...rest] = String(cost).split(' ')
  if (!isMoney(amount) || !isCurrency(currency) || rest.length > 0) return undefined
  return { effect: known, price: { cost: amount, currency } }
}

const all = (effect: Effect, ...tools: readonly string[]): Effects =>
  Object.fromEntries(tools.map((tool) => [tool, { effect }]))

/** Effects of the official servers' tools and of the tools of coding agents, by the names that `--effects` takes. */
export const OFFICIAL_EFFECTS: Readonly<Record<string, Effects>> = {
  filesystem: {
    ...all('none', 'read_file', 'read_text_file', 'read_media_file', 'read_multiple_files', 'list_directory'),
    ...all(
      'none',
      'list_directory_with_sizes',
      'directory_tree',
      'search_files',
      'get_file_info',
      'list_allowed_directories',
    ),
    ...all('idempotent', 'write_file', 'create_directory'),
    ...all('once', 'edit_file', 'move_file'),
  },
  memory: {
    ...all('none', 'read_graph', 'search_nodes', 'open_nodes'),
    ...all(
      'idempotent',
      'create_entities',
      'create_relations',
      'delete_entities',
      'delete_observations',
      'delete_relations',
    ),
    ...all('once', 'add_observations'),
  },
  everything: {
    ...all('none', 'echo', 'get-annotated-message', 'get-env', 'get-resource-links', 'get-resource-reference'),
    ...all('none', 'get-structured-content', 'get-sum', 'get-tiny-image', 'trigger-long-running-operation'),
    ...all('none', 'get-roots-list'),
    ...all('idempotent', 'gzip-file-as-resource'),
    ...all('once', 'toggle-simulated-logging', 'toggle-subscriber-updates', 'trigger-elicitation-request'),
    ...all('once', 'trigger-elicitation-request-async', 'trigger-sampling-request', 'trigger-sampling-request-async'),
    ...all('once', 'trigger-url-elicitation', 'simulate-research-query'),
  },
  'claude-code': {
    ...all(
      'none',
      'Read',
      'Glob',
      'Grep',
      'LS',
      'LSP',
      'NotebookRead',
      'WebFetch',
      'WebSearch',
      'BashOutput',
      'TaskOutput',
    ),
    ...all(
      'none',
      'ToolSearch',
      'ListMcpResourcesTool',
      'ReadMcpResourceTool',
      'TaskGet',
      'TaskList',
      'AskUserQuestion',
    ),
    ...all('none', 'EnterPlanMode', 'ExitPlanMode'),
    ...all('idempotent', 'Write', 'TodoWrite', 'TaskUpdate', 'KillShell', 'TaskStop', 'Skill'),
    ...all('once', 'Bash', 'Edit', 'MultiEdit', 'NotebookEdit', 'Task', 'Agent'),
  },
  cursor: {
    ...all('none', 'Read', 'Grep', 'Glob', 'List'),
    ...all('idempotent', 'Write', 'Delete'),
    ...all('once', 'Shell', 'Edit', 'Task'),
  },
}
