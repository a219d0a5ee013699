/** @module What five frameworks keep in a state of their own while the facts beside it stay: as their types declare it, and 25 steps of each. */
import type { JsonObject } from '../../../../../schemas/json.ts'
import type { PresetName } from '../../../../../schemas/value-forms.ts'
import type { Trade } from './steps.ts'

const upTo = <T>(step: number, each: (i: number) => T): T[] => Array.from({ length: step }, (_, i) => each(i))
const pick = <T>(step: number, ...values: readonly T[]): T => values[step % values.length] as T
const minute = (step: number): string => new Date(Date.UTC(2026, 3, 7, 8, 3 * step)).toISOString()
const usage = (step: number): JsonObject => ({ requests: step, inputTokens: 311 * step, outputTokens: 97 * step })

export interface Framework extends Omit<Trade, 'moves' | 'broken'> {
  readonly name: PresetName
}

const ORDER: JsonObject = { id: 'A-1001', qty: 6, city: 'Bern', insured: true }

export const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'langgraph',
    given: { order: ORDER, files: { '/plan.md': 'deliver on Monday' } },
    books: (step) => ({
      messages: upTo(1 + (step % 6), (i) => ({
        type: 'ai',
        id: `m-${step - i}`,
        content: [{ type: 'text', text: `${i}` }],
      })),
      todos: [{ content: `stop ${step}`, status: 'in_progress' }],
      structuredResponse: { verdict: pick(step, 'go', 'wait'), rest: 25 - step },
      threadModelCallCount: 2 * step,
      runModelCallCount: step % 3,
      threadToolCallCount: { search: step, book: 2 * step },
      runToolCallCount: { search: step % 2 },
      activeAgent: pick(step, 'planner', 'booker', 'critic'),
      ...(step % 2 === 0 && { jumpTo: 'model', __interrupt__: [{ id: `i-${step}`, value: step }] }),
      skillsMetadata: [{ name: `skill-${step % 4}` }],
      memoryContents: { '/AGENTS.md': `version ${step}` },
      next: [pick(step, 'tools', 'agent')],
      metadata: { source: pick(step, 'input', 'loop'), step: step - 1, parents: { '': `p-${step}` } },
    }),
    spoilt: [
      ['/order/qty', 9],
      ['/files/~1plan.md', 'deliver on Friday'],
      ['/order/insured', false],
      ['/order/id', 'A-1010'],
    ],
  },
  {
    name: 'openai-agents',
    given: { ticket: { ref: 'T-88', seats: 3 } },
    books: (step) => ({
      $schemaVersion: '1.19',
      currentTurn: step % 10,
      currentAgent: { name: pick(step, 'Triage', 'Refunds') },
      originalInput: 'I want my money back',
      maxTurns: 10,
      noActiveAgentRun: step % 2 === 0,
      modelResponses: upTo(step, (i) => ({ usage: usage(i + 1), output: [], responseId: `resp-${i}` })),
      generatedItems: upTo(step, (i) => ({ type: 'tool_call_output_item', output: { fare: 120 + i, call: `c-${i}` } })),
      lastModelResponse: { usage: usage(step), output: [{ type: 'message', id: `msg-${step}` }] },
      toolUseTracker: { [pick(step, 'Triage', 'Refunds')]: ['lookup'] },
      context: {
        usage: usage(step),
        approvals: step % 2 === 0 ? {} : { refund: { approved: [`c-${step}`], rejected: [] } },
        context: { customer: 'Ada', limit_eur: 250 },
      },
      inputGuardrailResults: [{ guardrail: { name: 'polite' }, output: { outputInfo: { score: step / 100 } } }],
      ...(step % 2 === 0 && {
        currentStep: { type: 'next_step_run_again' },
        pendingAgentToolRuns: { a: `run-${step}` },
      }),
      previousResponseId: `resp-${step}`,
      trace: { id: `trace-${step % 5}`, workflow_name: 'support', group_id: null },
    }),
    spoilt: [
      ['/context/context/limit_eur', 2500],
      ['/ticket/seats', 8],
      ['/generatedItems/0/output/fare', 999],
      ['/context/context/customer', 'Bob'],
    ],
  },
  {
    name: 'ai-sdk',
    given: { runtimeContext: { tenant: 'clinic', ward: 4 } },
    books: (step) => ({
      messages: [
        {
          id: 'm1',
          role: 'user',
          metadata: { sentAt: minute(step) },
          parts: [{ type: 'text', text: 'How warm is it?' }],
        },
        {
          id: 'm2',
          role: 'assistant',
          metadata: { totalTokens: 40 * step, model: pick(step, 'small', 'large') },
          parts: [
            {
              type: 'tool-weather',
              toolCallId: 'c1',
              state: pick(step, 'output-available', 'approval-responded'),
              output: { celsius: 21, readings: [20, 21, 22] },
              callProviderMetadata: { vendor: { item: `fc-${step}` } },
              ...(step % 2 === 0 && { preliminary: true }),
            },
            { type: 'data-plan', data: { beds: 12 } },
          ],
        },
      ],
      callId: `call-${step}`,
      stepNumber: step % 4,
      model: { provider: 'vendor', modelId: pick(step, 'small', 'large') },
      toolsContext: { weather: { hits: 25 - step } },
      toolCalls: [{ type: 'tool-call', toolCallId: `t-${step}`, toolName: 'weather', input: { at: step } }],
      finishReason: pick(step, 'tool-calls', 'stop'),
      usage: { inputTokens: 12 + ((7 * step) % 5), outputTokens: 30 - step, totalTokens: 42 + (step % 3) },
      response: {
        id: `r-${step}`,
        timestamp: minute(step),
        modelId: 'small',
        messages: [{ role: 'tool', content: [{ n: step }] }],
      },
    }),
    spoilt: [
      ['/messages/1/parts/0/output/celsius', 12],
      ['/messages/1/parts/1/data/beds', 21],
      ['/runtimeContext/ward', 5],
      ['/messages/1/parts/0/output/readings/1', 12],
    ],
  },
  {
    name: 'crewai',
    given: { client: { name: 'Nordwind', seats: 40 }, id: 'flow-7' },
    books: (step) => ({
      raw: `Draft ${step}`,
      json_dict: { price_eur: 1200 },
      token_usage: { total_tokens: 500 * step, successful_requests: step % 7 },
      tasks_output: [
        {
          name: 'research',
          description: 'Find three venues',
          agent: pick(step, 'Researcher', 'Senior researcher'),
          raw: `Found ${step}`,
          summary: `Find three… ${step}`,
          pydantic: { venues: ['Halle 5', 'Kino'] },
          messages: [{ role: 'assistant', content: `thinking ${step}` }],
        },
      ],
      last_user_message: `And now ${step}?`,
      last_intent: pick(step, 'book', 'ask', 'chat'),
      session_ready: step % 2 === 0,
    }),
    spoilt: [
      ['/json_dict/price_eur', 2100],
      ['/tasks_output/0/pydantic/venues/1', 'Theater'],
      ['/client/seats', 14],
      ['/client/name', 'Südwind'],
    ],
  },
  {
    name: 'autogen',
    given: { brief: { budget_eur: 900, site: 'Linz' } },
    books: (step) => ({
      agent_states: {
        writer: {
          type: 'ChatAgentContainerState',
          agent_state: {
            type: 'AssistantAgentState',
            llm_context: { messages: [{ source: 'user', content: `turn ${step}` }] },
          },
          message_buffer: upTo(step % 3, (i) => ({ source: 'critic', text: `note ${i + step}` })),
        },
        manager: {
          type: 'MagenticOneOrchestratorState',
          task: 'Find a hall',
          facts: 'The hall in Linz costs 900',
          plan: `Ask venue ${step}`,
          current_turn: step % 8,
          next_speaker_index: step % 2,
          n_rounds: step % 5,
          n_stalls: step % 3,
          previous_speaker: pick(step, 'writer', 'critic'),
          message_thread: upTo(step + 1, (i) => ({
            id: `msg-${i}`,
            type: 'StructuredMessage',
            content: { hall: `H${i}`, seats: 100 + i },
            models_usage: { prompt_tokens: (step * 13) % 7, completion_tokens: i },
          })),
        },
      },
    }),
    spoilt: [
      ['/agent_states/manager/task', 'Find a barn'],
      ['/agent_states/manager/message_thread/0/content/seats', 10],
      ['/brief/budget_eur', 9000],
      ['/agent_states/manager/facts', 'The hall in Linz costs 90'],
    ],
  },
]

/** Every place that a preset names, spelt out: `*` is a member of a list or of a map. */
export const BOOKKEEPING: Readonly<Record<PresetName, string>> = {
  langgraph: `
    /messages /jumpTo /jump_to /structuredResponse /structured_response /todos /runModelCallCount /run_model_call_count /runToolCallCount
    /run_tool_call_count /skillsMetadata /skills_metadata /memoryContents /memory_contents /_summarizationEvent /_summarization_event
    /__start__ /__end__ /__input__ /__copy__ /__interrupt__ /__resume__ /__error__ /__error_source_node__ /__no_writes__ /__return__
    /__previous__ /__pregel_tasks /threadModelCallCount /thread_model_call_count /threadToolCallCount/* /thread_tool_call_count/*
    /activeAgent /active_agent /remaining_steps /is_last_step /_summarizationSessionId /values/messages /values/jumpTo /values/jump_to
    /values/structuredResponse /values/structured_response /values/todos /values/runModelCallCount /values/run_model_call_count
    /values/runToolCallCount /values/run_tool_call_count /values/skillsMetadata /values/skills_metadata /values/memoryContents
    /values/memory_contents /values/_summarizationEvent /values/_summarization_event /values/__start__ /values/__end__ /values/__input__
    /values/__copy__ /values/__interrupt__ /values/__resume__ /values/__error__ /values/__error_source_node__ /values/__no_writes__
    /values/__return__ /values/__previous__ /values/__pregel_tasks /values/threadModelCallCount /values/thread_model_call_count
    /values/threadToolCallCount/* /values/thread_tool_call_count/* /values/activeAgent /values/active_agent /values/remaining_steps
    /values/is_last_step /values/_summarizationSessionId /checkpoint/channel_values/messages /checkpoint/channel_values/jumpTo
    /checkpoint/channel_values/jump_to /checkpoint/channel_values/structuredResponse /checkpoint/channel_values/structured_response
    /checkpoint/channel_values/todos /checkpoint/channel_values/runModelCallCount /checkpoint/channel_values/run_model_call_count
    /checkpoint/channel_values/runToolCallCount /checkpoint/channel_values/run_tool_call_count /checkpoint/channel_values/skillsMetadata
    /checkpoint/channel_values/skills_metadata /checkpoint/channel_values/memoryContents /checkpoint/channel_values/memory_contents
    /checkpoint/channel_values/_summarizationEvent /checkpoint/channel_values/_summarization_event /checkpoint/channel_values/__start__
    /checkpoint/channel_values/__end__ /checkpoint/channel_values/__input__ /checkpoint/channel_values/__copy__
    /checkpoint/channel_values/__interrupt__ /checkpoint/channel_values/__resume__ /checkpoint/channel_values/__error__
    /checkpoint/channel_values/__error_source_node__ /checkpoint/channel_values/__no_writes__ /checkpoint/channel_values/__return__
    /checkpoint/channel_values/__previous__ /checkpoint/channel_values/__pregel_tasks /checkpoint/channel_values/threadModelCallCount
    /checkpoint/channel_values/thread_model_call_count /checkpoint/channel_values/threadToolCallCount/*
    /checkpoint/channel_values/thread_tool_call_count/* /checkpoint/channel_values/activeAgent /checkpoint/channel_values/active_agent
    /checkpoint/channel_values/remaining_steps /checkpoint/channel_values/is_last_step /checkpoint/channel_values/_summarizationSessionId
    /checkpoint/v /checkpoint/id /metadata/source /metadata/step /checkpoint/ts /checkpoint/channel_versions /checkpoint/versions_seen
    /metadata/parents /next /config/configurable/checkpoint_id /parentConfig/configurable/checkpoint_id`,
  'openai-agents': `
    /$schemaVersion /currentTurn /maxTurns /noActiveAgentRun /initialInputGuardrailsCompleted /currentAgent /currentAgentSpan /currentStep
    /lastModelResponse /lastProcessedResponse /pendingInput /currentTurnInProgress /currentTurnPersistedItemCount
    /currentTurnSessionWriteCompactedItemCount /currentTurnDeferredSessionItemIndexes /currentTurnBlockedSessionStartIndex
    /currentTurnExecutedWithSessionBinding /currentTurnSessionInputItems /currentResponseGeneratedItemOwnership /toolUseTracker
    /inputGuardrailResults /outputGuardrailResults /toolInputGuardrailResults /toolOutputGuardrailResults /pendingAgentToolRuns
    /pendingAgentToolRunAliases /pendingSessionHistoryTransaction /pendingSessionWrite /pendingLegacyCompactionSessionItems
    /completedToolInvocations /completedToolInvocationEvidence /ambiguousToolInvocationCallIds /conversationId /previousResponseId
    /reasoningItemIdPolicy /trace/id /trace/group_id /sandbox/currentAgentKey /sandbox/currentAgentName /sandbox/sessionState
    /sandbox/sessionsByAgent /context/usage /context/approvals /context/hostedMcpApprovals /context/functionApprovals
    /context/legacyFunctionApprovals /context/approvalInvocations /context/toolInput /runContext/usage /runContext/approvals
    /runContext/hostedMcpApprovals /runContext/functionApprovals /runContext/legacyFunctionApprovals /runContext/approvalInvocations
    /runContext/toolInput`,
  'ai-sdk': `
    /messages/*/metadata /messages/*/parts/*/state /messages/*/parts/*/title /messages/*/parts/*/providerExecuted
    /messages/*/parts/*/toolMetadata /messages/*/parts/*/providerMetadata /messages/*/parts/*/callProviderMetadata
    /messages/*/parts/*/resultProviderMetadata /messages/*/parts/*/preliminary /messages/*/parts/*/approval /messages/*/parts/*/errorText
    /callId /stepNumber /finishReason /rawFinishReason /toolsContext /reasoningText /toolCalls /staticToolCalls /dynamicToolCalls
    /providerMetadata /totalUsage /model/provider /model/modelId /usage/inputTokens /usage/outputTokens /usage/totalTokens
    /usage/inputTokenDetails /usage/outputTokenDetails /usage/raw /request/body /request/messages /response/id /response/timestamp
    /response/modelId /response/headers /response/body /response/messages`,
  crewai: `
    /raw /expected_output /context_summary /output_format /last_user_message /last_intent /session_ready /token_usage /tool_failures
    /tasks_output/*/raw /tasks_output/*/expected_output /tasks_output/*/context_summary /tasks_output/*/output_format
    /tasks_output/*/description /tasks_output/*/summary /tasks_output/*/agent /tasks_output/*/messages /tasks_output/*/tool_failures`,
  autogen: `
    /llm_context /message_buffer /inner_team_state /previous_speakers /message_thread/*/models_usage /message_thread/*/metadata
    /current_turn /next_speaker_index /n_rounds /n_stalls /previous_speaker /current_speaker /plan /facts /agent_states/*/llm_context
    /agent_states/*/message_buffer /agent_states/*/inner_team_state /agent_states/*/previous_speakers
    /agent_states/*/message_thread/*/models_usage /agent_states/*/message_thread/*/metadata /agent_states/*/current_turn
    /agent_states/*/next_speaker_index /agent_states/*/n_rounds /agent_states/*/n_stalls /agent_states/*/previous_speaker
    /agent_states/*/current_speaker /agent_states/*/plan /agent_states/*/facts /agent_states/*/agent_state/llm_context
    /agent_states/*/agent_state/message_buffer /agent_states/*/agent_state/inner_team_state /agent_states/*/agent_state/previous_speakers
    /agent_states/*/agent_state/message_thread/*/models_usage /agent_states/*/agent_state/message_thread/*/metadata
    /agent_states/*/agent_state/current_turn /agent_states/*/agent_state/next_speaker_index /agent_states/*/agent_state/n_rounds
    /agent_states/*/agent_state/n_stalls /agent_states/*/agent_state/previous_speaker /agent_states/*/agent_state/current_speaker
    /agent_states/*/agent_state/plan /agent_states/*/agent_state/facts`,
}
