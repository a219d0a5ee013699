/**
 * @module Presets of a policy: the bookkeeping that frameworks write into a state, by explicit paths (JUD-70), and the expansion of these
 * rows. Needs no schema library.
 *
 * A row never covers a fact: lists that only grow need no row, and answers of tools, structured output of an agent and names such as `id`
 * are not bookkeeping.
 */
import { parsePointer } from './json-pointer.ts'
import type { Move } from './place-policy.ts'
import type { PolicyObject } from './policy.ts'
import type { PresetName } from './value-forms.ts'

function rows(as: Move['as'], root: string, paths: string): readonly Move[] {
  return paths.split(' ').map((path) => ({ path: `${root}/${path}`, as }))
}

/** Roots of the state itself, of a snapshot's values, and of a checkpoint's values. */
const LANGGRAPH_STATES = ['', '/values', '/checkpoint/channel_values']

function langgraphState(root: string): readonly Move[] {
  return [
    ...rows('free', root, 'messages jumpTo jump_to structuredResponse structured_response todos'),
    ...rows('free', root, 'runModelCallCount run_model_call_count runToolCallCount run_tool_call_count'),
    ...rows('free', root, 'skillsMetadata skills_metadata memoryContents memory_contents'),
    ...rows('free', root, '_summarizationEvent _summarization_event'),
    ...rows('free', root, '__start__ __end__ __input__ __copy__ __interrupt__ __resume__ __error__'),
    ...rows('free', root, '__error_source_node__ __no_writes__ __return__ __previous__ __pregel_tasks'),
    ...rows('counter', root, 'threadModelCallCount thread_model_call_count'),
    ...rows('counter', root, 'threadToolCallCount/* thread_tool_call_count/*'),
    ...rows('cursor', root, 'activeAgent active_agent remaining_steps is_last_step _summarizationSessionId'),
  ]
}

const LANGGRAPH = [
  ...LANGGRAPH_STATES.flatMap(langgraphState),
  ...rows('cursor', '', 'checkpoint/v checkpoint/id metadata/source metadata/step'),
  ...rows('clock', '', 'checkpoint/ts'),
  ...rows('free', '', 'checkpoint/channel_versions checkpoint/versions_seen metadata/parents next'),
  ...rows('cursor', '', 'config/configurable/checkpoint_id parentConfig/configurable/checkpoint_id'),
]

const OPENAI_CONTEXT =
  'usage approvals hostedMcpApprovals functionApprovals legacyFunctionApprovals approvalInvocations toolInput'

const OPENAI_AGENTS = [
  ...rows('cursor', '', '$schemaVersion currentTurn maxTurns noActiveAgentRun initialInputGuardrailsCompleted'),
  ...rows('free', '', 'currentAgent currentAgentSpan currentStep lastModelResponse lastProcessedResponse pendingInput'),
  ...rows('free', '', 'currentTurnInProgress currentTurnPersistedItemCount currentTurnSessionWriteCompactedItemCount'),
  ...rows('free', '', 'currentTurnDeferredSessionItemIndexes currentTurnBlockedSessionStartIndex'),
  ...rows('free', '', 'currentTurnExecutedWithSessionBinding currentTurnSessionInputItems'),
  ...rows('free', '', 'currentResponseGeneratedItemOwnership toolUseTracker inputGuardrailResults'),
  ...rows('free', '', 'outputGuardrailResults toolInputGuardrailResults toolOutputGuardrailResults'),
  ...rows('free', '', 'pendingAgentToolRuns pendingAgentToolRunAliases pendingSessionHistoryTransaction'),
  ...rows('free', '', 'pendingSessionWrite pendingLegacyCompactionSessionItems completedToolInvocations'),
  ...rows('free', '', 'completedToolInvocationEvidence ambiguousToolInvocationCallIds'),
  ...rows('free', '', 'conversationId previousResponseId reasoningItemIdPolicy'),
  ...rows('cursor', '/trace', 'id group_id'),
  ...rows('free', '/sandbox', 'currentAgentKey currentAgentName sessionState sessionsByAgent'),
  ...rows('free', '/context', OPENAI_CONTEXT),
  ...rows('free', '/runContext', OPENAI_CONTEXT),
]

const AI_SDK = [
  ...rows('free', '/messages/*', 'metadata'),
  ...rows('cursor', '/messages/*/parts/*', 'state title providerExecuted'),
  ...rows('free', '/messages/*/parts/*', 'toolMetadata providerMetadata callProviderMetadata resultProviderMetadata'),
  ...rows('free', '/messages/*/parts/*', 'preliminary approval errorText'),
  ...rows('cursor', '', 'callId stepNumber finishReason'),
  ...rows('free', '', 'rawFinishReason toolsContext reasoningText toolCalls staticToolCalls dynamicToolCalls'),
  ...rows('free', '', 'providerMetadata totalUsage'),
  ...rows('cursor', '/model', 'provider modelId'),
  ...rows('free', '/usage', 'inputTokens outputTokens totalTokens inputTokenDetails outputTokenDetails raw'),
  ...rows('free', '/request', 'body messages'),
  ...rows('free', '/response', 'id timestamp modelId headers body messages'),
]

const CREWAI_TASK = 'raw expected_output context_summary output_format'

const CREWAI = [
  ...rows('cursor', '', `${CREWAI_TASK} last_user_message last_intent session_ready`),
  ...rows('free', '', 'token_usage tool_failures'),
  ...rows('cursor', '/tasks_output/*', `${CREWAI_TASK} description summary agent`),
  ...rows('free', '/tasks_output/*', 'messages tool_failures'),
]

/** Roots of the state of a team, and of the states of the agents in it. */
const AUTOGEN_STATES = ['', '/agent_states/*', '/agent_states/*/agent_state']

function autogenState(root: string): readonly Move[] {
  return [
    ...rows('free', root, 'llm_context message_buffer inner_team_state previous_speakers'),
    ...rows('free', root, 'message_thread/*/models_usage message_thread/*/metadata'),
    ...rows('cursor', root, 'current_turn next_speaker_index n_rounds n_stalls previous_speaker current_speaker plan'),
    // Prose that is rewritten each time, under a key that is critical by default.
    ...rows('text', root, 'facts'),
  ]
}

const AUTOGEN = AUTOGEN_STATES.flatMap(autogenState)

export const PRESETS: Readonly<Record<PresetName, readonly Move[]>> = {
  langgraph: LANGGRAPH,
  'openai-agents': OPENAI_AGENTS,
  'ai-sdk': AI_SDK,
  crewai: CREWAI,
  autogen: AUTOGEN,
}

/** The rows of the presets that a policy names, except those for places that the policy itself declares: its own declaration takes precedence. */
export function presetMoves(policy: PolicyObject): readonly Move[] {
  const { criticalKeys = [], protect, lists = {}, monotonic = {}, tolerance = {}, moves = [] } = policy
  const keys = new Set([...criticalKeys, ...(Array.isArray(protect) ? protect : [])])
  const reaching = moves.filter(({ as }) => as === 'free' || as === 'log').map(({ path }) => path)
  const whole = [...(policy.immutable ?? []), ...(policy.supersede?.never ?? []), ...reaching].map(tokensOf)
  const places = [lists, monotonic, tolerance].flatMap((each) => Object.keys(each))
  const single = [...places, ...moves.map(({ path }) => path)].map(tokensOf)
  const byPath = new Map((policy.preset ?? []).flatMap((name) => PRESETS[name]).map((move) => [move.path, move]))
  return [...byPath.values()].filter(({ path }) => {
    const tokens = tokensOf(path)
    if (tokens.some((token) => keys.has(token))) return false
    if (whole.some((above) => above.length <= tokens.length && isAlong(above, tokens))) return false
    return !single.some((same) => same.length === tokens.length && isAlong(same, tokens))
  })
}

function tokensOf(path: string): readonly string[] {
  return parsePointer(path) ?? []
}

/** Whether both paths can match the same places, over the length of the first path. */
function isAlong(first: readonly string[], second: readonly string[]): boolean {
  return first.every((token, i) => token === '*' || second[i] === '*' || token === second[i])
}
