/** @module The commands of a run, sent by the client and executed by the ledger. */
import type { DecideApproval } from './approval.ts'
import type { RecordCapture } from './capture.ts'
import type {
  CarryRun,
  ClaimCall,
  CompleteRun,
  FailRun,
  JoinFork,
  LeaveRun,
  PostEnvelope,
  PostReservation,
  PostUsage,
  RecordJudgement,
  RegisterManifest,
  ReleaseReservation,
  RenewCall,
  ReportBranch,
  ResolveCall,
  ReviewSuspects,
  Rollback,
  SettleCall,
  SettleReservation,
  StartCompensation,
  StartFork,
  StartRun,
} from './requests.ts'
import type { SendSignal, StartWait } from './waiting.ts'

/** One requested change of a run: its kind, its target, and the body of its request. */
export type Command =
  | { readonly kind: 'start'; readonly body: StartRun }
  | { readonly kind: 'envelope'; readonly body: PostEnvelope }
  | { readonly kind: 'judgement'; readonly body: RecordJudgement }
  | { readonly kind: 'review'; readonly body: ReviewSuspects }
  | { readonly kind: 'rollback'; readonly body: Rollback }
  | { readonly kind: 'manifest'; readonly body: RegisterManifest }
  | { readonly kind: 'claim'; readonly body: ClaimCall }
  | { readonly kind: 'settle'; readonly callId: string; readonly body: SettleCall }
  | { readonly kind: 'renew'; readonly callId: string; readonly body: RenewCall }
  | { readonly kind: 'resolve'; readonly callId: string; readonly body: ResolveCall }
  | { readonly kind: 'grant'; readonly approvalId: string; readonly body: DecideApproval }
  | { readonly kind: 'deny'; readonly approvalId: string; readonly body: DecideApproval }
  | { readonly kind: 'withdraw'; readonly approvalId: string; readonly body: DecideApproval }
  | { readonly kind: 'wait'; readonly body: StartWait }
  | { readonly kind: 'signal'; readonly name: string; readonly body: SendSignal }
  | { readonly kind: 'compensate'; readonly body: StartCompensation }
  | { readonly kind: 'reserve'; readonly body: PostReservation }
  | { readonly kind: 'settle-reservation'; readonly reservationId: string; readonly body: SettleReservation }
  | { readonly kind: 'release'; readonly reservationId: string; readonly body: ReleaseReservation }
  | { readonly kind: 'usage'; readonly body: PostUsage }
  | { readonly kind: 'fork'; readonly body: StartFork }
  | { readonly kind: 'branch'; readonly forkId: string; readonly body: ReportBranch }
  | { readonly kind: 'join'; readonly forkId: string; readonly body: JoinFork }
  | { readonly kind: 'capture'; readonly body: RecordCapture }
  | { readonly kind: 'leave'; readonly body: LeaveRun }
  | { readonly kind: 'carry'; readonly body: CarryRun }
  | { readonly kind: 'complete'; readonly body: CompleteRun }
  | { readonly kind: 'fail'; readonly body: FailRun }

/** One command of a batch, with the run that it is for. */
export interface BatchItem {
  readonly runId: string
  readonly command: Command
  /** W3C Trace Context of this command. Defaults to that of the request. */
  readonly traceparent?: string
}
