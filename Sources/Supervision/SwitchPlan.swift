import Wire

/// A switch from one profile to another, as far as it has come. It is on disk before each step, so that a supervisor that dies in it goes on:
/// forward once the new node had been ordered to start, back before that.
public struct SwitchPlan: Sendable, Equatable {
    /// What to do when the new node does not come up.
    public enum OnFailure: String, Sendable, CaseIterable {
        /// Bring the old one back.
        case rollback
        /// Stay with the new profile; its node is started again as the restart policy allows.
        case stay
    }

    /// How far it has come.
    public enum Step: String, Sendable, CaseIterable {
        /// The old node is to end.
        case stopping
        /// The new node has been ordered to start.
        case starting
        /// The new node did not come up, the old one is to start again.
        case rollingBack = "rolling_back"
    }

    /// The profile that ran.
    public let from: Profile
    /// The profile that is to run.
    public let to: Profile
    /// What to do when it does not come up.
    public let onFailure: OnFailure
    /// How far it has come.
    public var step: Step

    /// A plan of its parts.
    public init(from: Profile, to: Profile, onFailure: OnFailure, step: Step) {
        self.from = from
        self.to = to
        self.onFailure = onFailure
        self.step = step
    }

    /// The profile that a supervisor which finds this plan begins with.
    public var resumesWith: Profile {
        switch step {
        case .stopping, .rollingBack: from
        case .starting: to
        }
    }

    var ends: JSON { ["from": .string(from.description), "to": .string(to.description)] }

    /// The plan as it stands on disk.
    public var json: JSON {
        ends.with("on_failure", .string(onFailure.rawValue)).with("step", .string(step.rawValue))
    }

    /// Reads a plan back; nil when it is none.
    public init?(parsing json: JSON) {
        guard let from = json["from"]?.text.flatMap(Profile.init(_:)),
            let to = json["to"]?.text.flatMap(Profile.init(_:)),
            let onFailure = json["on_failure"]?.text.flatMap(OnFailure.init),
            let step = json["step"]?.text.flatMap(Step.init)
        else { return nil }
        self.init(from: from, to: to, onFailure: onFailure, step: step)
    }
}
