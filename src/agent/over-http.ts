/**
 * @module `countersign-client/agent`: tools, runs and sagas on a ledger behind HTTP. Neither this module nor its imports depend on the server or on a schema
 * library; they need only `AsyncLocalStorage`, hashes and files of Node. `countersign/agent` adds a ledger in the process.
 */

export type { AgentErrorCode, LedgerErrorCode } from '../../schemas/error-code.ts'
export type { BranchRunOptions } from './branch/branch.ts'
export type { ApprovalNotice } from './calls/approval-notice.ts'
export type { Backoff } from './calls/backoff.ts'
export type { Codec } from './calls/codecs.ts'
export { bufferCodec, dateCodec, mapCodec, setCodec } from './calls/codecs.ts'
export type { WaitNotice } from './calls/owner-wait.ts'
export type { Recorded } from './calls/recorded-type.ts'
export type { StandardSchema } from './calls/standard-schema.ts'
export type {
  ApproveOptions,
  CallContext,
  CheckResult,
  CompensateOptions,
  DefinedTool,
  FunctionTool,
  ParsedToolDefinition,
  Tool,
  ToolDefinition,
  ToolOptions,
  ToolReserve,
  ToolUsage,
  Undo,
  Wrapped,
} from './calls/tool-options.ts'
export { connect } from './connect.ts'
export {
  AgentError,
  HandoffRefused,
  InDoubt,
  LedgerRefused,
  OutcomeNotRecorded,
  OutcomeUnknown,
  RecordedFailure,
  ResumeDiverged,
  RunWaiting,
  WaitTimedOut,
} from './errors.ts'
export type {
  BranchReceipt,
  BranchRollback,
  ForkOptions,
  ForkResult,
} from './fork/fork-types.ts'
export { ForkFailed } from './fork/fork-types.ts'
export type { ReplayResult, ReplaySource } from './history/replay.ts'
export type { Agent, AgentOptions, AgentPart, Answer, Conversation } from './loop/agent.ts'
export { agent } from './loop/agent.ts'
export type { AnthropicLike, AnthropicModelOptions } from './loop/anthropic-model.ts'
export { anthropicModel } from './loop/anthropic-model.ts'
export type { LoopTool } from './loop/describe-tools.ts'
export type {
  AssistantMessage,
  Message,
  Model,
  ModelAnswer,
  ModelContext,
  ModelFunction,
  ModelPart,
  ToolDescription,
  ToolMessage,
  ToolRequest,
} from './loop/messages.ts'
export type { OpenAiLike, OpenAiModelOptions } from './loop/openai-model.ts'
export { openAiModel } from './loop/openai-model.ts'
export type { ScriptedCall } from './loop/scripted-model.ts'
export { ScriptedModel } from './loop/scripted-model.ts'
export { ApprovalDenied, ResultTooLarge, ToolError, ToolTimedOut } from './loop/tool-error.ts'
export type { AiSdkMiddleware } from './models/ai-sdk.ts'
export { aiSdkMiddleware } from './models/ai-sdk.ts'
export type { ModelCallContext } from './models/ask-model.ts'
export type { LoadMessages, RunnableSettings } from './models/lang-chain.ts'
export type { HandlerSettings, UsageHandler } from './models/lang-chain-handler.ts'
export { langchainHandler } from './models/lang-chain-handler.ts'
export { langchainTool } from './models/lang-chain-tool.ts'
export type { ModelCall } from './models/model-call.ts'
export type { ModelSettings } from './models/model-settings.ts'
export type { EndpointClient, EndpointOptions } from './models/open-ai-compatible.ts'
export { EndpointError, openAiCompatible } from './models/open-ai-compatible.ts'
export type { ModelUsage, Price, PriceTable } from './models/price-table.ts'
export { trackAnthropic } from './models/track-anthropic.ts'
export { trackOllama } from './models/track-ollama.ts'
export type { OpenAISettings } from './models/track-openai.ts'
export { trackOpenAI } from './models/track-openai.ts'
export { trackRunnable } from './models/track-runnable.ts'
export type { TrustOptions } from './models/trusted-fetch.ts'
export { trustedFetch } from './models/trusted-fetch.ts'
export { defaultPrompt } from './pipeline/default-prompt.ts'
export type {
  Envelope,
  Established,
  Finding,
  HandoffMode,
  HandoffOptions,
  HandoffResult,
  Manifest,
  Rewound,
  RollbackOptions,
  Supersession,
} from './pipeline/handoff-types.ts'
export type { Judge, JudgedHandoff, JudgeVerdict } from './pipeline/judge.ts'
export type { SliceReport, SliceRequest, Slicer } from './pipeline/slice.ts'
export { byRecency } from './pipeline/slicers/recency.ts'
export type { Embed, RelevanceOptions } from './pipeline/slicers/relevance.ts'
export { byRelevance } from './pipeline/slicers/relevance.ts'
export { byStructure } from './pipeline/slicers/structure.ts'
export type {
  AgentFunction,
  GeneratingAgent,
  InvokableAgent,
  StepAgent,
  StepContext,
  StepOptions,
  StepResult,
} from './pipeline/step-types.ts'
export type { CountTokens } from './pipeline/token-counter.ts'
export type { Approval, ApprovalRef, Approvals, DecisionOptions } from './runtime/approvals.ts'
export type { TailedEvent } from './runtime/connection.ts'
export { currentCall } from './runtime/execution-context.ts'
export type { RunBudget, RunCall, RunFilter, RunSummary, TailOptions } from './runtime/read-types.ts'
export type { DoubtfulCallReport, RecoverOptions, Recovery, RunWait, WaitingRun } from './runtime/recover.ts'
export type { Resolution, ResolvedCall } from './runtime/resolve-call.ts'
export type { Branch, BranchContext, Run } from './runtime/run.ts'
export type { BudgetOptions, Cost, RunOptions, StartOptions } from './runtime/run-options.ts'
export type { Countersign, RuntimeOptions } from './runtime/runtime.ts'
export type { CallRef, RollbackStatus, RunOutcome } from './saga/outcome.ts'
export { outcomeOf } from './saga/outcome.ts'
export type { SagaResult, StepReport, StepStatus } from './saga/saga-result.ts'
export { sagaReport } from './saga/saga-result.ts'
export type { SagaStep, SagaSteps } from './saga/saga-steps.ts'
export type { SentSignal, SignalOptions } from './waits/send-signal.ts'
export type { Until, WaitOptions } from './waits/wait-for.ts'
export type { RunWaitNotice } from './waits/wait-notice.ts'
export type { ResultOptions, StartedRun } from './workers/start.ts'
export type { Worker, WorkerOptions } from './workers/worker.ts'
