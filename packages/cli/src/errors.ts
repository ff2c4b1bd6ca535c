import { HoldfastError, quote } from '@holdfast/base';
import { type LeaseOwner, ownerText } from '@holdfast/lease';

/** The command line was used wrongly (exit status 2): unknown command or option, missing or extra argument. */
export class UsageError extends HoldfastError {
  static override readonly code = 'CLI_USAGE';
  declare readonly code: 'CLI_USAGE';
  /** The command the user meant, when that much was clear. */
  declare readonly command: string | undefined;

  constructor(message: string, command?: string, options: { readonly cause?: unknown } = {}) {
    super(message, { ...options, fields: { command } });
  }
}

/** A command or option that is specified but not built yet; it refuses and does nothing. */
export class NotAvailableError extends HoldfastError {
  static override readonly code = 'CLI_NOT_AVAILABLE';
  declare readonly code: 'CLI_NOT_AVAILABLE';
  declare readonly feature: string;

  constructor(feature: string) {
    super(`${feature} is not available in this version; nothing was done`, { fields: { feature } });
  }
}

/** The directory named as ROOT cannot be used; nothing was touched. */
export class RootArgumentError extends HoldfastError {
  static override readonly code = 'CLI_ROOT';
  declare readonly code: 'CLI_ROOT';
  declare readonly root: string;
  declare readonly kind:
    | 'missing'
    | 'symlink'
    | 'not-directory'
    | 'unreadable'
    | 'contains-home'
    | 'inside-home';

  constructor(root: string, kind: RootArgumentError['kind'], options: { readonly cause?: unknown } = {}) {
    super(`root ${quote(root)} ${reasons[kind]}`, { ...options, fields: { root, kind } });
  }
}

const reasons: Record<RootArgumentError['kind'], string> = {
  missing: 'does not exist; name an existing directory',
  symlink: 'is a symbolic link; name the directory itself',
  'not-directory': 'is not a directory; name a directory',
  unreadable: 'cannot be opened; check its permissions',
  'contains-home': 'contains the holdfast home; choose a home outside the root with --home',
  'inside-home': 'lies in the holdfast home; name a directory outside it',
};

/**
 * The home cannot be used. `missing`: it holds nothing, and the command only looks at what is there; nothing was made.
 * `denied`: it cannot be made, entered or written. `foreign`: it is another user's.
 */
export class HomeError extends HoldfastError {
  static override readonly code = 'CLI_HOME';
  declare readonly code: 'CLI_HOME';
  declare readonly home: string;
  declare readonly kind: 'missing' | 'denied' | 'foreign';

  constructor(home: string, kind: HomeError['kind'] = 'missing', options: { readonly cause?: unknown } = {}) {
    super(`home ${quote(home)} ${homeReasons[kind]}`, { ...options, fields: { home, kind } });
  }
}

const homeReasons: Record<HomeError['kind'], string> = {
  missing: 'does not exist; take a snapshot first, or name another one with --home or HOLDFAST_HOME',
  denied:
    'cannot be made or used by this user; name another one with --home or HOLDFAST_HOME, or change its permissions',
  foreign:
    'belongs to another user; run the command as that user, or name another one with --home or HOLDFAST_HOME',
};

/** A question had to be asked and nobody could answer; nothing was touched. */
export class ConfirmationError extends HoldfastError {
  static override readonly code = 'CLI_CONFIRMATION';
  declare readonly code: 'CLI_CONFIRMATION';
  declare readonly kind: 'no-terminal' | 'declined';

  /** `looks`: whether the command has `--dry-run`. */
  constructor(kind: ConfirmationError['kind'], looks: boolean = true) {
    super(
      kind === 'declined'
        ? 'declined; nothing was touched'
        : `confirmation needs a terminal; pass --yes to go ahead${looks ? ' or --dry-run to look' : ''}; nothing was touched`,
      { fields: { kind } },
    );
  }
}

/** The module named to `verify-backend` offers nothing that can be verified. */
export class BackendModuleError extends HoldfastError {
  static override readonly code = 'CLI_BACKEND_MODULE';
  declare readonly code: 'CLI_BACKEND_MODULE';
  declare readonly module: string;
  declare readonly kind: 'not-loadable' | 'nothing-offered' | 'bad-export';

  constructor(
    module: string,
    kind: BackendModuleError['kind'],
    detail: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(`module ${quote(module)}: ${detail}`, { ...options, fields: { module, kind } });
  }
}

/**
 * The process that owns a live session keeps the command from what it was asked for; nothing was done. `captures`: the
 * owner decides what is captured, so options for that cannot be given from outside. `silent`: it does not answer and is stopped, or
 * cannot be seen from here. `busy`: it runs and has not answered in time. `older`: its version cannot show what a rewind or
 * an undo would change. `open`: it has the session open, and what was asked for needs that nobody has.
 */
export class SessionLiveError extends HoldfastError {
  static override readonly code = 'CLI_SESSION_LIVE';
  declare readonly code: 'CLI_SESSION_LIVE';
  declare readonly sessionId: string;
  declare readonly kind: 'captures' | 'silent' | 'busy' | 'older' | 'open';
  /** What the owner says of itself. */
  declare readonly owner: LeaseOwner;

  constructor(
    sessionId: string,
    kind: SessionLiveError['kind'],
    owner: LeaseOwner,
    options: { readonly cause?: unknown } = {},
  ) {
    super(`session ${quote(sessionId)} is live in ${ownerText(owner)}, which ${liveReasons[kind]}`, {
      ...options,
      fields: { sessionId, kind, owner },
      effect: 'none',
    });
  }
}

const liveReasons: Record<SessionLiveError['kind'], string> = {
  captures:
    'decides what is captured: leave --ignore, --max-file-size and --on-unreadable out, or end that process',
  older:
    'is of an older version and cannot show what would change: leave --dry-run out, or end that process and try again',
  silent:
    'does not answer: it is stopped, or cannot be seen from here; let it go on, or end it and try again',
  open: 'has it open: end that session there, or that process, and try again; nothing was done',
  busy: 'runs and is too busy to answer: do not end it; wait until it has less to do and try again',
};
