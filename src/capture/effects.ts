/** @module What tools do to the world, as the owner of a session declares it. What a tool says of itself is not believed. */
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'

const EFFECTS = ['none', 'idempotent', 'once'] as const

/** `none` and `idempotent` may be made again after a doubt; `once` waits until somebody resolved it. */
export type Effect = (typeof EFFECTS)[number]

export type Effects = Readonly<Record<string, Effect>>

export function effectOf(effects: Effects, tool: string): Effect {
  return Object.hasOwn(effects, tool) ? (effects[tool] ?? 'once') : 'once'
}

/** `{"tools": {"read_file": "none"}}`; a message where the text is no such thing. */
export function parseEffects(
  text: string,
): { readonly ok: true; readonly effects: Effects } | { readonly ok: false; readonly message: string } {
  const value = parseJsonOrUndefined(text)
  const tools = isJsonObject(value) ? value.tools : undefined
  if (!isJsonObject(tools))
    return { ok: false, message: 'it takes {"tools": {"NAME": "none" | "idempotent" | "once"}}' }
  const known: readonly unknown[] = EFFECTS
  const wrong = Object.entries(tools).find(([, effect]) => !known.includes(effect))
  if (wrong !== undefined)
    return {
      ok: false,
      message: `the tool ${wrong[0]} takes one of ${EFFECTS.join(', ')}, not ${JSON.stringify(wrong[1])}`,
    }
  return { ok: true, effects: tools as Effects }
}

const all = (effect: Effect, ...tools: readonly string[]): Effects =>
  Object.fromEntries(tools.map((tool) => [tool, effect]))

/** The official servers, by the names that `--effects` takes. */
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
}
