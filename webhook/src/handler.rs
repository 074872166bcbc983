//! One request from its head to its answer: limits, body, verdict, one log line and one count.
//!
//! Decides the order of these and which failure gives which HTTP error; it never allows by default: every path but a verdict
//! without violation ends in a denial or an error. It knows no rule of a kind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use domain::settings::admission as settings;
use domain::violation::Verdict;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant as Moment, timeout_at};

use crate::answer::Answer;
use crate::application::{self, Said, Unjudged};
use crate::checks::{Checks, Question};
use crate::limits::{Gate, Held};
use crate::ports::{Decision, Decisions, Operation, Outcome, Place, Route};
use crate::refusal::Refusal;
use crate::review::Review;
use crate::unreadable::Unreadable;
use crate::{Admission, instance, tenant};

/// The longest name that is logged, in characters; Kubernetes' own have at most 253.
const LOGGED_MAX: usize = 253;

const UNSERVED: &str = "this server does not serve Applications: start it with --applications";

/// What all requests share.
pub(crate) struct Shared {
    admission: Admission,
    gate: Gate,
    checks: Checks,
}

impl Shared {
    pub(crate) fn new(admission: Admission) -> Self {
        Self {
            gate: Gate::new(&admission.limits),
            checks: Checks::new(&admission.limits),
            admission,
        }
    }
}

/// What is logged of a review. A peer chose all of it: it is cut here and escaped where it is written (H20).
#[derive(Debug)]
struct Subject {
    uid: String,
    namespace: String,
    name: String,
    operation: Operation,
    dry_run: bool,
}

impl Subject {
    fn of(review: &Review<'_>) -> Self {
        let cut = |text: &str| {
            let end = text.char_indices().nth(LOGGED_MAX);
            end.and_then(|(end, _)| text.get(..end))
                .unwrap_or(text)
                .to_owned()
        };
        Self {
            uid: cut(&review.uid),
            namespace: cut(&review.namespace),
            name: cut(&review.name),
            operation: review.operation,
            dry_run: review.dry_run,
        }
    }
}

/// What came of a body: the review's subject once it could be read, and the answer.
struct Judged {
    subject: Option<Subject>,
    answer: Result<Answer, Refusal>,
}

/// What came of a body that no more can be said of here.
enum Ruling {
    Judged(Box<Judged>),
    /// It has to be judged on a thread of its own.
    TooDear,
    /// A package's own check has the last word.
    Ask(Box<Asking>),
}

/// A review that waits for a package's own check; nothing of its body is held any more.
struct Asking {
    subject: Subject,
    uid: String,
    name: String,
    pending: settings::Pending,
    question: Question,
}

impl From<Refusal> for Judged {
    fn from(refusal: Refusal) -> Self {
        Self {
            subject: None,
            answer: Err(refusal),
        }
    }
}

/// Answers one request.
pub(crate) async fn admit(shared: Arc<Shared>, route: Route, request: Request) -> Response {
    let pending = Pending::begin(&shared, route);
    let judged = take_in(&shared, route, request)
        .await
        .unwrap_or_else(Judged::from);
    pending.end(&judged);
    match judged.answer {
        Ok(answer) => Json(answer).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Reads the body and has it judged, all within the deadline.
async fn take_in(shared: &Arc<Shared>, route: Route, request: Request) -> Result<Judged, Refusal> {
    let deadline = Moment::now() + shared.admission.limits.deadline;
    check_media(request.headers())?;
    let ruling = {
        let _place = shared.gate.place()?;
        let body = timeout_at(deadline, shared.gate.read(request.into_body()))
            .await
            .map_err(|_| Refusal::Slow)??;
        let turn = timeout_at(deadline, shared.gate.turn(route))
            .await
            .map_err(|_| Refusal::Late)??;
        let at_once = if body.bytes.len() <= route.at_once_max() {
            judge(&shared.admission, route, &body.bytes, Place::AtOnce)
        } else {
            Ruling::TooDear
        };
        match at_once {
            Ruling::TooDear => judge_apart(shared, route, (body, turn), deadline).await?,
            ruling => ruling,
        }
    };
    // From here on the request counts among the checks alone.
    match ruling {
        Ruling::Judged(judged) => Ok(*judged),
        Ruling::Ask(asking) => ask(shared, *asking, deadline).await,
        // A thread of its own is where everything is judged.
        Ruling::TooDear => Err(Refusal::Late),
    }
}

/// On a thread that may be blocked.
async fn judge_apart(
    shared: &Arc<Shared>,
    route: Route,
    (body, turn): (Held, OwnedSemaphorePermit),
    deadline: Moment,
) -> Result<Ruling, Refusal> {
    let owner = Arc::clone(shared);
    let judged = tokio::task::spawn_blocking(move || {
        // Moved in, because a closure that overruns its deadline still runs: its turn and its bytes stay taken until then.
        let _turn = turn;
        judge(&owner.admission, route, &body.bytes, Place::Apart)
    });
    timeout_at(deadline, judged)
        .await
        .map_err(|_| Refusal::Late)?
        .map_err(|_| Refusal::Panicked)
}

async fn ask(shared: &Shared, asking: Asking, deadline: Moment) -> Result<Judged, Refusal> {
    let Asking {
        subject,
        uid,
        name,
        pending,
        question,
    } = asking;
    let Some(applications) = &shared.admission.applications else {
        return Err(Refusal::Unsynced);
    };
    let port = applications.checks.as_ref();
    let said = shared.checks.ask(port, question, deadline).await;
    let judgement = pending.finish(said);
    let about = judgement.about.as_deref();
    Ok(Judged {
        subject: Some(subject),
        answer: Ok(Answer::of(
            &uid,
            Route::Application,
            &name,
            &judgement.verdict,
            about,
        )),
    })
}

fn check_media(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default().trim())
    };
    let essence = text(header::CONTENT_TYPE).and_then(|media| media.split(';').next());
    if !essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Refusal::MediaType);
    }
    match text(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(encoding) if encoding.eq_ignore_ascii_case("identity") => Ok(()),
        Some(_) => Err(Refusal::Encoding),
    }
}

fn judge(admission: &Admission, route: Route, body: &[u8], place: Place) -> Ruling {
    let review = match Review::decode(body) {
        Ok(review) => review,
        Err(problem) => {
            return Ruling::Judged(Box::new(Judged::from(Refusal::NotAReview(problem))));
        }
    };
    // Caught here and not only at the task's edge, so that the log names the object. Nothing that could be left half
    // changed crosses this edge: a verdict is computed from what is borrowed.
    let ruled = catch_unwind(AssertUnwindSafe(|| {
        rule(admission, (route, place), &review)
    }));
    ruled.unwrap_or_else(|_| refused(&review, Refusal::Panicked))
}

fn refused(review: &Review<'_>, refusal: Refusal) -> Ruling {
    Ruling::Judged(Box::new(Judged {
        subject: Some(Subject::of(review)),
        answer: Err(refusal),
    }))
}

fn rule(admission: &Admission, (route, place): (Route, Place), review: &Review<'_>) -> Ruling {
    let answer = match said(admission, (route, place), review) {
        Ok((name, Said::Done(judgement))) => {
            let about = judgement.about.as_deref();
            Answer::of(&review.uid, route, &name, &judgement.verdict, about)
        }
        Ok((name, Said::Ask(pending, question))) => {
            return Ruling::Ask(Box::new(Asking {
                subject: Subject::of(review),
                uid: review.uid.clone(),
                name,
                pending,
                question,
            }));
        }
        Err(Unjudged::Unreadable(problem)) => Answer::unreadable(review, route, &problem),
        Err(Unjudged::Refused(refusal)) => return refused(review, refusal),
        Err(Unjudged::TooDear) => return Ruling::TooDear,
    };
    Ruling::Judged(Box::new(Judged {
        subject: Some(Subject::of(review)),
        answer: Ok(answer),
    }))
}

/// The object's name, and how far it was judged.
fn said(
    admission: &Admission,
    (route, place): (Route, Place),
    review: &Review<'_>,
) -> Result<(String, Said), Unjudged> {
    review.asked_of(route)?;
    if route != Route::Application {
        return Ok(verdict(admission, route, review)?);
    }
    match &admission.applications {
        Some(applications) => application::judge(applications, review, place),
        // Registered, although this process was not told to serve them: fail closed.
        None => Err(Unreadable::new("request.kind", UNSERVED).into()),
    }
}

fn verdict(
    admission: &Admission,
    route: Route,
    review: &Review<'_>,
) -> Result<(String, Said), Unreadable> {
    let new = review.object(route)?;
    let old = review.old_object(route)?;
    let cluster = admission.cluster.as_ref();
    let verdict = match &old {
        // Also for specs that no type of ours can read any more (D4).
        Some(old) if new.has_spec_of(old) => Verdict::allowed(),
        _ if route == Route::Instance => {
            instance::judge(&new, old.as_ref(), cluster, &admission.addresses)?
        }
        _ => tenant::judge(&new, old.as_ref(), cluster)?,
    };
    let judgement = settings::Answer {
        verdict,
        ..settings::Answer::default()
    };
    Ok((new.name, Said::Done(judgement)))
}

/// A request that was announced to the observer and not ended yet. Dropped, it counts as abandoned.
struct Pending {
    decisions: Arc<dyn Decisions>,
    route: Route,
    begun: Instant,
    ended: bool,
}

impl Pending {
    fn begin(shared: &Shared, route: Route) -> Self {
        let decisions = Arc::clone(&shared.admission.decisions);
        decisions.begun(route);
        Self {
            decisions,
            route,
            begun: Instant::now(),
            ended: false,
        }
    }

    fn end(mut self, judged: &Judged) {
        let outcome = match &judged.answer {
            Ok(answer) if answer.is_allowed() => Outcome::Allowed,
            Ok(_) => Outcome::Denied,
            Err(refusal) => Outcome::Refused {
                status: refusal.status(),
                before_decode: refusal.before_decode(),
            },
        };
        let operation = judged
            .subject
            .as_ref()
            .map_or(Operation::Unknown, |subject| subject.operation);
        let decision = self.report(operation, outcome);
        log(&decision, judged);
    }

    fn report(&mut self, operation: Operation, outcome: Outcome) -> Decision {
        self.ended = true;
        let decision = Decision {
            route: self.route,
            operation,
            outcome,
            took: self.begun.elapsed(),
        };
        self.decisions.decided(&decision);
        decision
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.ended {
            self.report(Operation::Unknown, Outcome::Abandoned);
        }
    }
}

/// The one line of a request; of one that was allowed only for who asks for details, because it costs as much as the verdict.
/// Everything that a peer wrote goes through `Debug`, which escapes line ends and terminal codes.
fn log(decision: &Decision, judged: &Judged) {
    let kind = decision.route.kind();
    let (allowed, code, took) = (decision.allowed(), decision.code(), decision.took);
    let refusal = judged
        .answer
        .as_ref()
        .err()
        .map(|refusal| tracing::field::debug(refusal.to_string()));
    let Some(subject) = &judged.subject else {
        tracing::info!(kind, allowed, code, ?took, refusal, "admission");
        return;
    };
    let Subject {
        uid,
        namespace,
        name,
        operation,
        dry_run,
    } = subject;
    let operation = operation.as_str();
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                kind,
                ?uid,
                ?namespace,
                ?name,
                operation,
                dry_run,
                allowed,
                code,
                ?took,
                refusal,
                "admission"
            )
        };
    }
    if allowed { line!(debug) } else { line!(info) }
}
